import { expect } from 'vitest';
import { create, type Ended } from './caller.ts';
import { type Creation, creationsOf, isOneOf } from './creations.ts';
import { figuresOf } from './figures.ts';
import { GatewayProcess } from './gateway-process.ts';
import { LIMIT, settings } from './times.ts';
import { WritesUpstream } from './upstream.ts';

/** `npm run soak:writes` makes 1,000 of them, and kills the gateway 200 times. */
const count = Number(process.env['WRITES_CREATIONS'] ?? 7);
const kills = Number(process.env['WRITES_KILLS'] ?? Math.ceil(count / 5));

/**
 * Callers at a time. The limit allows about 13 of these creations in a minute of the usual speed, of which each takes 10 to
 * 15 s: three are in progress. With more callers, each kill cuts off more requests than the one that it is for.
 */
const callers = Number(process.env['WRITES_CALLERS'] ?? 4);
/** From this number of creations on, shares mean something. */
const MANY = 500;
/**
 * One request in seven is dropped before it is applied: its outcome stays unknown. So does that of most channels and
 * campaigns, whose rows have nothing that no other row can have: they are told as candidates.
 */
const most = { unknown: count >= MANY ? 0.4 : 1, reads: 2.5 };

/** For the timeout of a test of these creations. */
export const TIME_MS = 60_000 + 4000 * count;

/** The gateways that make creations, and what happens to them. */
interface Making {
  readonly env: Readonly<Record<string, string>>;
  /** How many of them share the store. */
  readonly processes: number;
  /** How often the store fails, between kills. */
  readonly failures?: number;
  readonly fail?: () => Promise<void>;
}

/**
 * Creates all rows through gateways that are killed right after they have sent one, then sends all keys again. Fails if a
 * row is doubled, lost or different on replay, or the limit was exceeded.
 */
export async function makeOnce({ env, fail, failures = 0, processes }: Making): Promise<void> {
  const creations = creationsOf(count, kills + failures);
  await using upstream = await WritesUpstream.start(creations);
  const all = Array.from(
    { length: processes },
    () => new GatewayProcess({ ...settings(upstream), ...env }),
  );
  try {
    await Promise.all(all.map((gateway) => gateway.listens()));
    const killer = new Killer();
    let failing = Promise.resolve();
    let ends = 0;
    upstream.onKill = () => {
      if (fail && isOneOf(failures, ends, kills + failures)) failing = failing.then(fail);
      else void killer.kill(all[ends % processes] as GatewayProcess);
      ends += 1;
    };
    const url = (n: number): string => (all[n % processes] as GatewayProcess).url;
    const ended = await createAll(creations, url);
    await failing;
    const replayed = await createAll(creations, url);
    const log = all.map((gateway) => gateway.output()).join('');
    const figures = figuresOf({ upstream, creations, ends: ended, kills: killer.kills, log });
    console.info(`${figures.table}\n${failures} failures of the store`);
    const { duplicates, failed, lost, wrongIds } = figures;
    expect({ duplicates, failed, lost, wrongIds }).toEqual({
      duplicates: [],
      failed: [],
      lost: [],
      wrongIds: [],
    });
    const finals = (of: readonly Ended[]) => of.map(({ id, kind }) => ({ id, kind }));
    expect(finals(replayed)).toEqual(finals(ended));
    expect(figures.mostSends).toBeLessThanOrEqual(1);
    expect(figures.mostInWindow).toBeLessThanOrEqual(LIMIT);
    expect(figures.unknownShare).toBeLessThanOrEqual(most.unknown);
    expect(figures.readsPerAmbiguity).toBeLessThanOrEqual(most.reads);
  } finally {
    await Promise.all(all.map((gateway) => gateway[Symbol.asyncDispose]()));
  }
}

/** Creates all rows, a few at a time. */
async function createAll(
  creations: readonly Creation[],
  url: (n: number) => string,
): Promise<Ended[]> {
  const ends: Ended[] = [];
  let next = 0;
  const caller = async (): Promise<void> => {
    for (let n = next; n < creations.length; n = next) {
      next += 1;
      ends[n] = await create(creations[n] as Creation, () => url(n));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return ends;
}

/** Kills gateways and starts them again; one that is down is left alone. */
class Killer {
  kills = 0;
  readonly #down = new Set<GatewayProcess>();

  async kill(gateway: GatewayProcess): Promise<void> {
    if (this.#down.has(gateway)) return;
    this.#down.add(gateway);
    this.kills += 1;
    await gateway.kill();
    await gateway.begin();
    this.#down.delete(gateway);
  }
}
