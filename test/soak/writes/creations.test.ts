import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { create, type Ended } from './caller.ts';
import { type Creation, creationsOf } from './creations.ts';
import { type Figures, figuresOf } from './figures.ts';
import { GatewayProcess } from './gateway-process.ts';
import { LIMIT, settings } from './times.ts';
import { WritesUpstream } from './upstream.ts';

/** `npm run soak:writes` makes 1,000 of them, and kills the gateway 200 times. */
const count = Number(process.env['WRITES_CREATIONS'] ?? 21);
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
const most = count >= MANY ? { unknown: 0.4, reads: 2 } : { unknown: 1, reads: 2.5 };

const TIME_MS = 60_000 + 3000 * count;

/** Creates all rows, a few at a time. */
async function createAll(creations: readonly Creation[], url: () => string): Promise<Ended[]> {
  const ends: Ended[] = [];
  let next = 0;
  const caller = async (): Promise<void> => {
    for (let n = next; n < creations.length; n = next) {
      next += 1;
      ends[n] = await create(creations[n] as Creation, url);
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

describe('Creations with keys are made once', () => {
  it(
    'when the one gateway is killed right after it has sent them',
    async () => {
      const creations = creationsOf(count, kills);
      await using upstream = await WritesUpstream.start(creations);
      const folder = mkdtempSync(join(tmpdir(), 'writes-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      await using gateway = new GatewayProcess({ ...settings(upstream), STATE_DIR: folder });
      await gateway.listens();
      const killer = new Killer();
      upstream.onKill = () => void killer.kill(gateway);
      const ends = await createAll(creations, () => gateway.url);
      check(figuresOf({ upstream, creations, ends, kills: killer.kills, log: gateway.output() }));
    },
    TIME_MS,
  );
});
