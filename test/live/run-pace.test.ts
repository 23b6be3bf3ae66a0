import { expect, it } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { RunPace } from '../../src/live/run-pace.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

it('leaves half of the processor to others once there is much to run', async () => {
  const rests = new VirtualClock();
  let workedMs = 0;
  // Time passes while somebody works, and while nobody does.
  const clock: Clock = {
    wall: () => rests.wall(),
    now: () => rests.now() + workedMs,
    after: (ms, task) => rests.after(ms, task),
  };
  const pace = new RunPace(clock, (begin) => begin());
  for (let n = 0; n < 100; n += 1) pace.begin(() => void (workedMs += 40));
  await rests.advance(1000);
  const tookMs = clock.now();
  expect(workedMs).toBeGreaterThan(0.4 * tookMs);
  // Beside the half: what is done before the first rest, and one piece that is not cut in two.
  expect(workedMs).toBeLessThanOrEqual(0.5 * tookMs + 100 + 40);
});
