import { it } from 'vitest';
import { LIMIT, restart } from '../support/restarts.ts';
import { record } from './report/measurement.ts';

const RESTARTS = 12;

it('restarts', async () => {
  const [silent, telling] = await Promise.all([restart(RESTARTS, false), restart(RESTARTS, true)]);
  const figure = (label: string, { most, requests }: { most: number; requests: number }) => ({
    label,
    value: most,
    target: { atMost: LIMIT },
    note: `${requests} requests in all`,
  });
  record({
    bench: 'restarts',
    about: `The built gateway is killed ${RESTARTS} times at random moments and started again, each time with more asked of it than a window of ${LIMIT} requests has.`,
    figures: [
      figure('most requests in a window, the upstream says nothing of its limit', silent),
      figure('most requests in a window, it tells what is left', telling),
    ],
  });
});
