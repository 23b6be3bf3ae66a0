import { it } from 'vitest';
import { LIMIT, restart } from '../support/restarts.ts';
import { record } from './report/measurement.ts';
import { serveOverRestarts } from './restarts/served.ts';

const RESTARTS = 12;
const SERVED_RESTARTS = 20;

it('restarts', async () => {
  const [silent, telling] = await Promise.all([restart(RESTARTS, false), restart(RESTARTS, true)]);
  const served = await serveOverRestarts(SERVED_RESTARTS);
  const figure = (label: string, { most, requests }: { most: number; requests: number }) => ({
    label,
    value: most,
    target: { atMost: LIMIT },
    note: `${requests} requests in total`,
  });
  const none = (label: string, value: number, note?: string) => ({
    label,
    value,
    target: { atMost: 0 },
    ...(note === undefined ? {} : { note }),
  });
  record({
    bench: 'restarts',
    about: `The built gateway is killed ${RESTARTS} times at random moments and restarted. Each time it receives more reads than a window of ${LIMIT} requests allows. Then it is killed ${SERVED_RESTARTS} times under 20 page views a second, while a campaign is renamed every few seconds; its API allows 30 requests in any minute.`,
    figures: [
      figure('most requests in a window, the upstream does not report its limit', silent),
      figure('most requests in a window, the upstream reports what remains', telling),
      {
        label: 'page views served over restarts',
        value: (100 * served.right) / served.views,
        unit: ' %',
        digits: 2,
        target: { atLeast: 100 },
        note: `${served.views} views; ${served.codes.join(', ') || 'no errors'}`,
      },
      {
        label: 'page views served in the first second of a process',
        value: (100 * served.rightInFirstSecond) / served.inFirstSecond,
        unit: ' %',
        digits: 2,
        target: { atLeast: 100 },
        note: `${served.inFirstSecond} views`,
      },
      {
        label: 'longest time from listening to the first response',
        value: served.firstAnswerMs,
        unit: ' ms',
      },
      none('responses older than they report', served.olderThanReported),
      none(
        'responses from before an answered write',
        served.beforeAnsweredWrite,
        `${served.writes} writes`,
      ),
      {
        label: 'most requests in a minute over these restarts',
        value: served.busiestMinute,
        target: { atMost: 30 },
        note: `${served.calls} requests in total`,
      },
    ],
  });
});
