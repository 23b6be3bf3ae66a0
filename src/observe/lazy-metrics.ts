import type { Clock } from '../clock.ts';
import type { Gauges, Metrics } from './metrics.ts';

/** After the start is over, and before many events have to be buffered. */
const LOAD_AFTER_MS = 2000;

/**
 * `createMetrics` with its library loaded after the start or at the first scrape, whichever is sooner,
 * so that no caller's first answer waits for it. Earlier events are buffered, and counted then.
 */
export function createLazyMetrics(clock: Clock, gauges: Gauges): Metrics {
  let backlog: ((metrics: Metrics) => void)[] = [];
  let loaded: Metrics | undefined;
  let loading: Promise<Metrics> | undefined;
  const load = (): Promise<Metrics> => {
    loading ??= import('./metrics.ts').then(({ createMetrics }) => {
      loaded = createMetrics(gauges);
      for (const event of backlog) event(loaded);
      backlog = [];
      return loaded;
    });
    return loading;
  };
  const record = (event: (metrics: Metrics) => void): void => {
    if (loaded) event(loaded);
    else backlog.push(event);
  };
  clock.after(LOAD_AFTER_MS, () => void load());
  return {
    render: async () => (await load()).render(),
    request: (request) => ({
      end: (outcome) => record((metrics) => metrics.request?.(request).end(outcome)),
    }),
    read: (...args) => record((metrics) => metrics.read?.(...args)),
    waited: (...args) => record((metrics) => metrics.waited?.(...args)),
    surprise: (...args) => record((metrics) => metrics.surprise?.(...args)),
    roundTrip: (...args) => record((metrics) => metrics.roundTrip?.(...args)),
    permit: (...args) => record((metrics) => metrics.permit?.(...args)),
    settled: (...args) => record((metrics) => metrics.settled?.(...args)),
    epoch: () => record((metrics) => metrics.epoch?.()),
    unreadable: () => record((metrics) => metrics.unreadable?.()),
    answeredInFront: (...args) => record((metrics) => metrics.answeredInFront?.(...args)),
    liveRun: () => record((metrics) => metrics.liveRun?.()),
    live: (stream) => record((metrics) => metrics.live?.(stream)),
    operation: (operation) => record((metrics) => metrics.operation?.(operation)),
  };
}
