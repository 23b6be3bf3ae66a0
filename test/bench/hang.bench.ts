import { it } from 'vitest';
import { startWorld } from '../support/gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { type Figure, record } from './report/measurement.ts';

/** What callers wait for by default. */
const PATIENCE_MS = 10_000;
const TTL_MS = 60_000;
const DASHBOARD =
  '{ account { username } channels(first: 3) { nodes { name items(first: 5) { totalCount } } } }';

/** Time of a dashboard whose upstream has hung since all of it grew so old, in shares of the patience. */
async function measure(ageMs: number): Promise<Figure> {
  const clock = new VirtualClock();
  const world = await startWorld({ clock, only: 'links', sandbox: { clock } });
  await world.data(DASHBOARD);
  world.sandbox.links.fault({ kind: 'hang' });
  await clock.advance(ageMs);
  const since = clock.now();
  const took: { ms?: number } = {};
  const asked = world.data(DASHBOARD).then((answer) => {
    took.ms = clock.now() - since;
    return answer;
  });
  await clock.settle();
  while (took.ms === undefined) await clock.step();
  await asked;
  await clock.advance(60_000);
  await world.close();
  return {
    label: `a dashboard ${ageMs / TTL_MS} times its ttl old: response time over the maximum wait`,
    value: took.ms / PATIENCE_MS,
    digits: 2,
    target: { atMost: 0.1 },
    note: 'two dependent reads',
  };
}

it('hang', async () => {
  const figures = [
    await measure(1.5 * TTL_MS),
    await measure(2 * TTL_MS),
    await measure(60 * TTL_MS),
  ];
  record({
    bench: 'hang',
    about: `Requests a dashboard that was read before, while the upstream does not respond, with a maximum wait of ${PATIENCE_MS / 1000} s, in virtual time.`,
    figures,
  });
});
