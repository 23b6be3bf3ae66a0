import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { startWorld } from '../support/gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { type Figure, record } from './report/measurement.ts';

const LIMIT = 30;
const WINDOW_MS = 60_000;
/** Weights and numbers of callers. */
const CLASSES = {
  people: { weight: 3, callers: 4 },
  agent: { weight: 1, callers: 3 },
  batch: { weight: 0.5, callers: 2 },
} as const;
type Name = keyof typeof CLASSES;
const names = Object.keys(CLASSES) as Name[];
const OVERLOAD = 3;
const WINDOWS = 30;

it('classes', async () => {
  const outcomes = { off: await overload('0'), on: await overload('10') };
  const figures: Figure[] = [];
  for (const [kind, percent] of [
    ['without reserves', 'off'],
    ['with reserves', 'on'],
  ] as const) {
    const { calls, received } = outcomes[percent];
    const total = [...calls.values()].reduce((sum, each) => sum + each, 0);
    const weights = names.reduce((sum, name) => sum + CLASSES[name].weight, 0);
    const off = names.map((name) => {
      const share = callersOf(name).reduce((sum, each) => sum + (calls.get(each) ?? 0), 0) / total;
      return Math.abs(share - CLASSES[name].weight / weights);
    });
    figures.push(
      {
        label: `${kind}: largest difference between the share of a class and its weight`,
        value: 100 * Math.max(...off),
        unit: ' %',
        digits: 2,
        target: { atMost: 2 },
      },
      {
        label: `${kind}: Jain’s index of the callers of a class, the lowest`,
        value: Math.min(
          ...names.map((name) => jain(callersOf(name).map((each) => calls.get(each) ?? 0))),
        ),
        digits: 3,
        target: { atLeast: 0.98 },
      },
      {
        label: `${kind}: share of the slots that were used`,
        value: (100 * received) / (WINDOWS * LIMIT),
        unit: ' %',
        digits: 1,
        target: { atLeast: 96 },
      },
      {
        label: `${kind}: requests in the usage, less those that the API received`,
        value: outcomes[percent].counted - outcomes[percent].sent,
        target: { atMost: 0 },
      },
    );
  }
  record({
    bench: 'classes',
    about: `Three classes with weights 3, 1 and 0.5 (4, 3 and 2 callers) together ask for ${OVERLOAD} times the limit of ${LIMIT} requests a minute, a fifth of what each caller asks for is a write. Virtual time, ${WINDOWS} windows.`,
    figures,
  });
});

const callersOf = (name: Name): string[] =>
  Array.from({ length: CLASSES[name].callers }, (_, n) => `${name}${n}`);

function jain(values: readonly number[]): number {
  const sum = values.reduce((all, each) => all + each, 0);
  return sum ** 2 / (values.length * values.reduce((all, each) => all + each ** 2, 0));
}

async function overload(percent: string) {
  const folder = mkdtempSync(join(tmpdir(), 'classes-'));
  const file = join(folder, 'tokens.json');
  const tokens = names.flatMap((name) =>
    callersOf(name).map((caller) => {
      return { name: caller, role: 'admin' as const, class: name, sha256: hash('sha256', caller) };
    }),
  );
  writeFileSync(file, formatTokenFile(tokens));
  const classes = Object.fromEntries(names.map((name) => [name, { weight: CLASSES[name].weight }]));
  const clock = new VirtualClock();
  const world = await startWorld({
    clock,
    sandbox: { clock, limit: { requests: LIMIT, mode: 'sliding' } },
    only: 'links',
    env: {
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: file,
      CALLER_CLASSES: JSON.stringify(classes),
      LINKS_RATE_LIMIT: String(LIMIT),
      MAX_WAIT_MS: String(WINDOW_MS),
      writeReserve: String(Number(percent) / 100),
      newcomerReserve: String(Number(percent) / 100),
      shutdownGraceMs: '0',
    },
  });
  const ask = (caller: string, query: string) =>
    world.ask(query, undefined, { authorization: `Bearer ${caller}` });
  const pending: Promise<unknown>[] = [];
  const owed = new Map<string, number>();
  const askedBy = new Map<string, number>();
  let number = 0;
  const weights = names.reduce((sum, name) => sum + CLASSES[name].weight, 0);
  const usage = async (): Promise<Map<string, number>> => {
    const { data } = await ask('people0', '{ usage(by: [CALLER]) { rows { caller calls } } }');
    const { rows } = (data as unknown as Usage).usage;
    return new Map(rows.map(({ caller, calls }) => [caller, calls]));
  };
  let before = new Map<string, number>();
  let begun = 0;
  for (let second = 0; second < (WINDOWS + 3) * 60; second += 1) {
    if (second === 3 * 60) {
      before = await usage();
      begun = world.sandbox.links.requests.length;
    }
    for (const name of names) {
      const { callers, weight } = CLASSES[name];
      for (const caller of callersOf(name)) {
        const due = (owed.get(caller) ?? 0) + (OVERLOAD * LIMIT * weight) / weights / 60 / callers;
        owed.set(caller, due - Math.floor(due));
        for (let n = 0; n < Math.floor(due); n += 1) {
          number += 1;
          const asked = (askedBy.get(caller) ?? 0) + 1;
          askedBy.set(caller, asked);
          const query =
            asked % 5 === 0
              ? `mutation Note { createChannel(input: { name: "${number}" }) { __typename } }`
              : `query Find { files(search: "${number}", first: 1) { totalCount } }`;
          pending.push(ask(caller, query));
        }
      }
    }
    await clock.advance(1000);
  }
  const after = await usage();
  const sent = world.sandbox.links.requests.length;
  const calls = new Map(
    names
      .flatMap(callersOf)
      .map((caller) => [caller, (after.get(caller) ?? 0) - (before.get(caller) ?? 0)]),
  );
  const counted = [...after.values()].reduce((sum, each) => sum + each, 0);
  const closed = Promise.allSettled(pending);
  await clock.advance(3 * WINDOW_MS);
  await closed;
  const ended = world.close();
  await clock.advance(60_000);
  await ended;
  rmSync(folder, { recursive: true });
  return { calls, counted, sent, received: sent - begun };
}

interface Usage {
  readonly usage: {
    readonly rows: readonly { readonly caller: string; readonly calls: number }[];
  };
}
