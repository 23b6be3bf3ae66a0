import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { startWorld } from '../support/gateway.ts';
import { randomFrom } from '../support/random.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { type Figure, percentile, record } from './report/measurement.ts';

const LIMIT = 30;
const WINDOW_MS = 60_000;
/** The share of the limit that the nine use together. */
const LOAD = 0.8;
/** Views of a person per view that needs an upstream request: the others are cached. */
const VIEWS = 4;
/** Upstream requests of the nine per write. */
const WRITES = 6;
/** The tenth finds an unused window first, and the effects of that burst take some windows to fade. */
const BEFORE_MS = 6 * WINDOW_MS;
const MINUTES = 15;
const PEOPLE = Array.from({ length: 9 }, (_, index) => `person${index + 1}`);

const FILES = 'query ($name: String) { files(search: $name, first: 1) { totalCount } }';
const CHANNELS = '{ channels(first: 9) { nodes { id } } }';
const RENAME =
  'mutation ($id: ID!, $name: String!) { updateChannel(input: { id: $id, name: $name }) { __typename } }';

interface Channels {
  readonly channels: { readonly nodes: readonly { readonly id: string }[] };
}

interface Seen {
  readonly failed: boolean;
  readonly waitedMs: number;
  /** Whether it needs an upstream request. */
  readonly calls: boolean;
}

interface Outcome {
  readonly seen: readonly Seen[];
  /** Requests that the upstream received. */
  readonly requests: number;
}

it('reserves', async () => {
  const figures: Figure[] = [];
  for (const pace of ['even', 'random'] as const) {
    const alone = await compete({ pace, isGreedy: false, percent: 10 });

    const beside = await compete({ pace, isGreedy: true, percent: 10 });
    const before = await compete({ pace, isGreedy: true, percent: 0 });
    figures.push(...figuresOf(pace, { alone, beside, before }));
  }
  record({
    bench: 'reserves',
    about: `Nine callers open pages, at an even pace or at random times; one view in ${VIEWS} needs a request, and one request in ${WRITES} is a write: together ${LOAD * 100} % of ${LIMIT} requests a minute. A tenth caller always has uncached reads waiting. Virtual time, ${MINUTES} minutes each, after ${BEFORE_MS / 60_000}.`,
    figures,
  });
});

function figuresOf(
  pace: 'even' | 'random',
  { alone, before, beside }: Readonly<Record<'alone' | 'before' | 'beside', Outcome>>,
): Figure[] {
  const p95 = ({ seen }: Outcome, calls: boolean): number =>
    percentile(
      seen.filter((each) => !each.failed && (each.calls || !calls)).map(({ waitedMs }) => waitedMs),
      0.95,
    ) / 1000;
  const refused = ({ seen }: Outcome): number => seen.filter(({ failed }) => failed).length;
  // At random times, the nine alone need more than the limit now and then.
  const target = (of: NonNullable<Figure['target']>): Pick<Figure, 'target'> =>
    pace === 'even' ? { target: of } : {};
  const waits = (label: string, calls: boolean): Figure => ({
    label: `${pace} pace: ${label}`,
    value: p95(beside, calls),
    digits: 1,
    unit: ' s',
    ...target({ atMost: 1.1 * p95(alone, calls) }),
    note: `${p95(alone, calls).toFixed(1)} s without the tenth, ${p95(before, calls).toFixed(1)} s without reserves`,
  });
  return [
    {
      label: `${pace} pace: operations of the nine that failed`,
      value: refused(beside),
      ...target({ atMost: 0 }),
      note: `of ${beside.seen.length}; ${refused(alone)} without the tenth, ${refused(before)} without reserves`,
    },
    waits('95th percentile of their waits', false),
    waits('the same of operations that need a request', true),
    {
      label: `${pace} pace: requests sent, over those without reserves`,
      value: beside.requests / before.requests,
      digits: 3,
      ...target({ atLeast: 0.97 }),
      note: `${beside.requests} and ${before.requests}`,
    },
  ];
}

async function compete({
  isGreedy,
  pace,
  percent,
}: {
  readonly pace: 'even' | 'random';
  readonly isGreedy: boolean;
  readonly percent: number;
}): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'reserves-'));
  const file = join(folder, 'tokens.json');
  const sha256 = (name: string) => createHash('sha256').update(name).digest('hex');
  writeFileSync(
    file,
    formatTokenFile(
      ['greedy', ...PEOPLE].map((name) => ({ name, role: 'editor', sha256: sha256(name) })),
    ),
  );
  const clock = new VirtualClock();
  const world = await startWorld({
    clock,
    sandbox: { clock, limit: { requests: LIMIT, mode: 'sliding' } },
    env: {
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: file,
      LINKS_RATE_LIMIT: String(LIMIT),
      writeReserve: String(percent / 100),
      newcomerReserve: String(percent / 100),
      'ttl.files': '3600000',
    },
    only: 'links',
  });
  const draw = randomFrom(7);
  const seen: Seen[] = [];
  const pending: Promise<void>[] = [];
  let number = 0;
  const ask = async (caller: string, query: string, variables: object) => {
    const { errors } = await world.ask(query, variables as Record<string, unknown>, {
      authorization: `Bearer ${caller}`,
    });
    return errors.length > 0;
  };
  const listed = await world.ask(CHANNELS, undefined, { authorization: `Bearer ${PEOPLE[0]}` });
  const { nodes } = (listed.data as unknown as Channels).channels;
  const act = async (index: number): Promise<void> => {
    const caller = PEOPLE[index] as string;
    const calls = number % VIEWS === 0 || number < PEOPLE.length;
    number += 1;
    const begunAt = clock.now();
    const isWrite = calls && Math.floor(number / VIEWS) % WRITES === 0;
    const latest = latestOf.get(caller) ?? `${caller} 0`;
    const entry = calls && !isWrite ? `${caller} ${number}` : latest;
    const failed = isWrite
      ? await ask(caller, RENAME, { id: nodes[index]?.id, name: `name ${number}` })
      : await ask(caller, FILES, { name: entry });
    if (!isWrite && !failed) latestOf.set(caller, entry);
    if (begunAt >= BEFORE_MS) seen.push({ failed, calls, waitedMs: clock.now() - begunAt });
  };
  const latestOf = new Map<string, string>();
  let greedy = 0;
  const grab = async (): Promise<void> => {
    greedy += 1;
    await ask('greedy', FILES, { name: `greedy ${number} ${greedy} ${clock.now()}` });
    greedy -= 1;
  };
  const everyMs = WINDOW_MS / (LIMIT * LOAD * VIEWS);
  let nextAt = 0;
  const until = BEFORE_MS + MINUTES * 60_000;
  let requests = 0;
  while (clock.now() < until) {
    while (nextAt <= clock.now()) {
      const index = pace === 'even' ? number % PEOPLE.length : Math.floor(draw() * PEOPLE.length);
      pending.push(act(index));
      nextAt += pace === 'even' ? everyMs : -Math.log(1 - draw()) * everyMs;
    }
    const missing = isGreedy ? LIMIT / 2 - greedy : 0;
    for (let n = 0; n < missing; n += 1) pending.push(grab());
    if (requests === 0 && clock.now() >= BEFORE_MS) requests = world.sandbox.links.requests.length;
    await clock.advance(Math.min(500, Math.max(1, nextAt - clock.now())));
  }
  const sent = world.sandbox.links.requests.length - requests;
  const closed = Promise.all(pending);
  await clock.advance(120_000);
  await closed;
  await world.close();
  rmSync(folder, { recursive: true });
  return { seen, requests: sent };
}
