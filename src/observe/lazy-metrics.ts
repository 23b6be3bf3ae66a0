import type { Clock } from '../clock.ts';
import type { Gauges, Metrics } from './metrics.ts';

/** Long enough for a start to be over, and short enough that little has to be remembered. */
const LOAD_AFTER_MS = 2000;

/**
 * `createMetrics`, but its library is loaded after the start or at the first scrape, whichever is
 * sooner, since no caller's first answer should wait for it. What happens before is counted then.
 */
export function createLazyMetrics(clock: Clock, gauges: Gauges): Metrics {
  let backlog: ((metrics: Metrics) => void)[] = [];
  let loaded: Metrics | undefined;
  let loading: Promise<Metrics> | undefined;
  const load = (): Promise<Metrics> => {
    loading ??= import('./metrics.ts').then(({ createMetrics }) => {
      loaded = createMetrics(gauges);
      for (const tell of backlog) tell(loaded);
      backlog = [];
      return loaded;
    });
    return loading;
  };
  const later = (tell: (metrics: Metrics) => void): void => {
    if (loaded) tell(loaded);
    else backlog.push(tell);
  };
  clock.after(LOAD_AFTER_MS, () => void load());
  return {
    render: async () => (await load()).render(),
    request: (request) => ({
      end: (outcome) => later((metrics) => metrics.request?.(request).end(outcome)),
    }),
    read: (...told) => later((metrics) => metrics.read?.(...told)),
    waited: (...told) => later((metrics) => metrics.waited?.(...told)),
    surprise: (...told) => later((metrics) => metrics.surprise?.(...told)),
    operation: (record) => later((metrics) => metrics.operation?.(record)),
  };
}
