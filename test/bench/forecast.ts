import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import type { OperationPlan } from '../../src/upstream/dry-run/dry-run.ts';
import type { ReceiptSummary } from '../../src/upstream/receipt.ts';
import { startWorld } from '../support/gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** An operation that was asked for as a dry run and then at once for real. */
export interface Forecast {
  readonly plan: OperationPlan;
  readonly receipt: ReceiptSummary;
}

/** What keeps the budget busy: callers who look at pages by chance, as many people do. */
export interface Crowd {
  readonly callers: number;
  /** Pages a minute over all of them. */
  readonly pages: number;
  /** Requests that a page takes. */
  readonly callsAPage: number;
  /** How long each of the others rests between two operations, on average. */
  readonly restMs: number;
}

const WINDOW_MS = 60_000;
const LIMIT = 30;
/** How long an upstream takes to answer. */
const ANSWER_MS = 200;

/** What each caller asks the price of, by turns; `n` distinguishes one time from the next. */
const probes: readonly (readonly ((n: number) => string)[])[] = [
  [(n) => files([`single ${n}`]), () => '{ channel(id: 99) { items { totalCount } } }'],
  [(n) => files([1, 2, 3, 4].map((each) => `several ${n} ${each}`))],
  [
    () => '{ channels(first: 3) { nodes { items(first: 5) { totalCount } } } seller { username } }',
    () => '{ user(id: 105) { username plan { name } } }',
  ],
  [(n) => `mutation { createCampaign(input: { name: "n${n}" }) { __typename } }`],
];

/**
 * Some callers ask for the price of operations and then at once for their answers, while a crowd keeps the same
 * calls busy, for this many windows. Virtual time, real sockets, the real limit; no caller is refused for want of patience.
 */
export async function measureForecasts(crowd: Crowd, windows: number): Promise<Forecast[]> {
  const clock = new VirtualClock();
  const folder = mkdtempSync(join(tmpdir(), 'forecast-'));
  const file = join(folder, 'tokens.json');
  const sha256 = (name: string) => createHash('sha256').update(name).digest('hex');
  const many = Array.from({ length: crowd.callers }, (_, n) => `crowd${n}`);
  const few = probes.map((_, n) => `probe${n}`);
  const tokens = [...many, ...few].map(
    (name) => ({ name, role: 'admin', sha256: sha256(name) }) as const,
  );
  writeFileSync(file, formatTokenFile(tokens));
  const world = await startWorld({
    clock,
    sandbox: { clock, limit: { requests: LIMIT, windowMs: WINDOW_MS, mode: 'sliding' } },
    env: {
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: file,
      LINKS_RATE_LIMIT: String(LIMIT),
      MAX_WAIT_MS: '3600000',
      // Nothing is kept for long, so that every operation costs something.
      staleWhileRevalidateMs: '0',
      STALE_IF_ERROR_MS: '0',
      ...Object.fromEntries(
        ['channels', 'channelItems', 'users', 'plans', 'seller'].map((name) => [
          `ttl.${name}`,
          '5000',
        ]),
      ),
    },
  });
  for (const api of [world.sandbox.links, world.sandbox.market]) {
    api.fault({ kind: 'slow', delayMs: ANSWER_MS });
  }
  const ask = async (caller: string, query: string, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${caller}`;
    const answer = await world.ask(query, {}, { authorization, prefer: 'wait=3600', ...headers });
    if (answer.errors.length > 0) throw new Error(JSON.stringify(answer.errors));
    return answer;
  };
  const sleep = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const chance = chances();
  const endMs = windows * WINDOW_MS;
  const look = async (): Promise<void> => {
    const pages: Promise<unknown>[] = [];
    for (let n = 0; ; n += 1) {
      await sleep((-Math.log(1 - chance()) * WINDOW_MS) / crowd.pages);
      if (clock.now() > endMs) break;
      const caller = many[Math.floor(chance() * many.length)] ?? '';
      const names = Array.from({ length: crowd.callsAPage }, (_, each) => `page ${n} ${each}`);
      pages.push(ask(caller, files(names)));
    }
    await Promise.all(pages);
  };
  const forecasts: Forecast[] = [];
  const probe = async (caller: string, queries: (typeof probes)[number]): Promise<void> => {
    // Until an answer has come from each API, it is not known how long one takes.
    await ask(caller, '{ account { username } seller { username } }');
    for (let n = 0; ; n += 1) {
      await sleep(crowd.restMs * (0.5 + chance()));
      if (clock.now() > endMs) break;
      const query = (queries[n % queries.length] as (n: number) => string)(n);
      const { text } = await ask(caller, query, { 'x-gateway-dry-run': '1' });
      const { plan } = JSON.parse(text).extensions;
      const { receipt } = await ask(caller, query);
      forecasts.push({ plan, receipt });
    }
  };
  try {
    const all = Promise.all([look(), ...few.map((caller, n) => probe(caller, probes[n] ?? []))]);
    const under = { way: true };
    const done = all.finally(() => {
      under.way = false;
    });
    while (under.way) if (!(await clock.step())) await clock.settle();
    await done;
    return forecasts;
  } finally {
    await world.close();
    rmSync(folder, { recursive: true });
  }
}

/** One operation that takes a request for each of these names, for which no caller has asked before. */
function files(names: readonly string[]): string {
  const fields = names.map((name, n) => `f${n}: files(search: "${name}", first: 1) { totalCount }`);
  return `{ ${fields.join(' ')} }`;
}

/** Numbers between 0 and 1, the same ones in each run. */
function chances(): () => number {
  let state = 12_345;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
