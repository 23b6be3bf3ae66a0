import * as fc from 'fast-check';
import { beforeAll, it } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { openSandbox, startWorld } from '../../support/gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { Play, steps, TTL, turn } from './play.ts';
import { themes } from './themes.ts';
import { Truth } from './truth.ts';

/** Rests by events of the machine and not by its time: thousands of schedules do it often. */
class QuickClock extends VirtualClock {
  override settle(): Promise<void> {
    return turn(12);
  }
}

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await openSandbox();
});

const DAY = 86_400_000;
const ttls = ['campaigns', 'channels', 'channelItems', 'pixels', 'qrCodes', 'qrStatistics'];
const env = {
  ...Object.fromEntries([...ttls, 'users', 'account'].map((name) => [`ttl.${name}`, `${TTL}`])),
  LINKS_TIMEOUT_MS: `${DAY}`,
  MAX_WAIT_MS: '600000',
};

it.each(themes)(
  'no read that begins after a write shows $name as before it',
  async ({ schedules, start, views, changes }) => {
    await fc.assert(
      fc.asyncProperty(steps, async (schedule) => {
        sandbox.reset();
        const clock = new QuickClock();
        const world = await startWorld({ on: sandbox, only: 'links', clock, env });
        try {
          // The first request after a start goes alone: held, it would hold up all others.
          await world.data('{ plans { databaseId } }');
          const truth = new Truth(start);
          const { ask } = world;
          const pass = (ms: number) => clock.advance(ms);
          const play = new Play({ sandbox, ask, pass, truth, views, changes });
          for (const step of schedule) await play.step(step);
          await play.end();
          // What has settled by now is shown once more.
          await Promise.all([...new Set(views)].map((view) => play.read(view)));
          for (const sighting of play.sightings) truth.check(sighting);
        } finally {
          await world.close();
        }
      }),
      { numRuns: schedules },
    );
  },
);
