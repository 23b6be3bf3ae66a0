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
    note: `${requests} requests in total`,
  });
  record({
    bench: 'restarts',
    about: `The built gateway is killed ${RESTARTS} times at random moments and restarted. Each time it receives more reads than a window of ${LIMIT} requests allows.`,
    figures: [
      figure('most requests in a window, the upstream does not report its limit', silent),
      figure('most requests in a window, the upstream reports what remains', telling),
    ],
  });
});
