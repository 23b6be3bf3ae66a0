import { expect, it } from 'vitest';
import { startWorld } from './support/gateway.ts';
import { VirtualClock } from './support/virtual-clock.ts';

it('a gateway that is closed wants nothing more of the clock, and so is held by nothing', async () => {
  const clock = new VirtualClock();
  const world = await startWorld({ clock });
  await world.data('{ account { username } campaigns(first: 2) { nodes { name } } }');
  await world.close();
  expect(await clock.step()).toBe(false);
});
