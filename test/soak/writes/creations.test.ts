import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { describeWith, redisServer } from '../../support/needs.ts';
import { Replica } from '../../support/replicas/replica.ts';
import { createDice } from '../load.ts';
import { create, type Ended } from './caller.ts';
import { type Creation, creationsOf } from './creations.ts';
import { type Figures, figuresOf } from './figures.ts';
import { LIMIT, settings, WINDOW_MS } from './times.ts';
import { Trio } from './trio.ts';
import { WritesUpstream } from './upstream.ts';

/** `npm run soak:writes` makes 1,000 of them, and kills the gateway 200 times. */
const count = Number(process.env['WRITES_CREATIONS'] ?? 21);
const kills = Number(process.env['WRITES_KILLS'] ?? Math.ceil(count / 5));
const seed = Number(process.env['WRITES_SEED'] ?? 1);

/**
 * Callers at a time. The limit allows about 13 of these creations in a minute of the usual speed, of which each takes 10 to
 * 15 s: three are in progress. With more callers, each kill cuts off more requests than the one that it is for.
 */
const callers = Number(process.env['WRITES_CALLERS'] ?? 4);
/** From this number of creations on, shares mean something. */
const MANY = 500;
/** One request in seven is dropped before it is applied: its outcome stays unknown. */
const most = count >= MANY ? { unknown: 0.2, reads: 1.2 } : { unknown: 0.7, reads: 2.5 };
/** Creations from one failure of Redis to the next. */
const CALM = 12;

const TIME_MS = 60_000 + 3000 * count;

/** Creates all rows, a few at a time, at the address that `place` returns for the index of a creation. */
async function createAll(
  creations: readonly Creation[],
  place: (creation: number) => string,
  onEnd: (ended: number) => void = () => undefined,
): Promise<Ended[]> {
  const ends: Ended[] = [];
  let next = 0;
  let ended = 0;
  const caller = async (): Promise<void> => {
    for (let n = next; n < creations.length; n = next) {
      next += 1;
      ends[n] = await create(creations[n] as Creation, () => place(n));
      ended += 1;
      onEnd(ended);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return ends;
}

/** Kills gateways and starts them again; one that is down is left alone. */
class Killer {
  kills = 0;
  readonly #down = new Set<Replica>();

  async kill(gateway: Replica): Promise<void> {
    if (this.#down.has(gateway)) return;
    this.#down.add(gateway);
    this.kills += 1;
    await gateway.end('SIGKILL');
    await gateway.begin();
    this.#down.delete(gateway);
  }
}

function check(figures: Figures): void {
  console.info(figures.table);
  const { duplicates, failed, lost, wrongIds } = figures;
  const none: string[] = [];
  expect({ duplicates, failed, lost, wrongIds }).toEqual({
    duplicates: none,
    failed: none,
    lost: none,
    wrongIds: none,
  });
  expect(figures.mostSends).toBeLessThanOrEqual(1);
  expect(figures.mostInWindow).toBeLessThanOrEqual(LIMIT);
  expect(figures.unknownShare).toBeLessThanOrEqual(most.unknown);
  expect(figures.readsPerAmbiguity).toBeLessThanOrEqual(most.reads);
}

describeWith(redisServer, 'Creations with keys are made once', () => {
  it(
    'when the one gateway is killed right after it has sent them',
    async () => {
      const creations = creationsOf(count, kills);
      await using upstream = await WritesUpstream.start(creations);
      const folder = mkdtempSync(join(tmpdir(), 'writes-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      await using gateway = new Replica({ ...settings(upstream), STATE_DIR: folder });
      await gateway.listens();
      const killer = new Killer();
      upstream.onKill = () => void killer.kill(gateway);
      const ends = await createAll(creations, () => gateway.url);
      check(figuresOf({ upstream, creations, ends, kills: killer.kills, log: gateway.output() }));
    },
    TIME_MS,
  );

  it(
    'when three replicas are killed, and their Redis is emptied, killed and cut off',
    async () => {
      const roll = createDice(seed);
      const creations = creationsOf(count, Math.ceil(kills / 4));
      await using upstream = await WritesUpstream.start(creations);
      await using trio = await Trio.start(upstream);
      const killer = new Killer();
      /** The replica that each creation was sent to last. */
      const places = new Map<number, Replica>();
      const place = (creation: number): string => {
        const replica = trio.replica(roll(trio.size));
        places.set(creation, replica);
        return replica.url;
      };
      upstream.onKill = (creation) => {
        const replica = places.get(creation);
        if (replica) void killer.kill(replica);
      };
      let failing = Promise.resolve();
      let failures = 0;
      let isOver = false;
      const fail = async (): Promise<void> => {
        if (isOver) return;
        await trio.fail(failures, roll);
        failures += 1;
        await pause(isOver ? 0 : WINDOW_MS);
      };
      const ends = await createAll(creations, place, (ended) => {
        if (ended % CALM === 0) failing = failing.then(fail);
      });
      isOver = true;
      await failing;
      console.info(`${failures} failures of Redis and its network`);
      check(figuresOf({ upstream, creations, ends, kills: killer.kills, log: trio.output() }));
    },
    TIME_MS + 10_000 * (count / CALM),
  );
});
