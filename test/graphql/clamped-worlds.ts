import { afterAll, beforeAll } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { startWorld, type World } from '../support/gateway.ts';
import { QuickClock } from '../support/virtual-clock.ts';

/** By how many rows a page is cut in each of the installations; in the last, each list by another number. */
export const clamps = [100, 12, 3, 'each'] as const;

/** Rows of a page of a list in the last of the installations, by its path. */
function clampOf(path: string): number {
  return { '/api/overlay': 2, '/api/pixels': 5, '/api/campaigns': 12, '/api/qr': 15 }[path] ?? 100;
}

interface RestingWorld extends World {
  readonly clock: QuickClock;
  readonly rests: () => Promise<void>;
}

/** Runs `then` in a world that reads an installation. */
export type InWorld = (
  scene: {
    readonly clamp: (typeof clamps)[number];
    /** Asked before, one after the other; milliseconds stand for time that passes. */
    readonly before: readonly (string | number)[];
    readonly env?: Readonly<Record<string, string>>;
  },
  then: (world: RestingWorld) => Promise<void>,
) => Promise<void>;

/** Starts the installations for the tests of a file. When `then` begins, nothing is under way. */
export function clampedWorlds(): InWorld {
  const sandboxes = new Map<string | number, Sandbox>();
  beforeAll(async () => {
    for (const clamp of clamps) {
      const maxLimit = clamp === 'each' ? clampOf : clamp;
      sandboxes.set(clamp, await startSandbox({ limit: { requests: 1_000_000 }, maxLimit }));
    }
  });
  afterAll(() => Promise.all([...sandboxes.values()].map((sandbox) => sandbox.close())));
  return async ({ clamp, before, env = {} }, then) => {
    const sandbox = sandboxes.get(clamp) as Sandbox;
    sandbox.reset();
    const clock = new QuickClock();
    const all = { EXPOSE_USER_API_KEYS: 'true', MAX_WAIT_MS: '600000', ...env };
    const world = await startWorld({ on: sandbox, clock, env: all });
    // Refreshes that are on their way are none of what follows. What is sent after them arrives after them, unless a
    // connection has to be opened first.
    const rests = async (): Promise<void> => {
      for (let calls = -1; calls !== world.calls().length; ) {
        calls = world.calls().length;
        for (let trip = 0; trip < 3; trip += 1) {
          await clock.settle();
          await world.links('/api/account');
        }
      }
    };
    try {
      for (const step of before) {
        if (typeof step === 'number') await clock.advance(step);
        else await world.ask(step, {}, { prefer: 'wait=600' });
      }
      await rests();
      world.forgetCalls();
      await then({ ...world, clock, rests });
    } finally {
      await world.close();
    }
  };
}
