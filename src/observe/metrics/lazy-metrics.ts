import type { Clock } from '../../scheduling/clock.ts';
import type { EventStream } from '../event-stream.ts';
import { countedEvents } from './counted-events.ts';
import type { Gauges, Metrics } from './metrics.ts';

/** After the start, and before many events have to be buffered. */
const LOAD_AFTER_MS = 2000;

/**
 * `createMetrics` with its library loaded after the start or at the first scrape, whichever is first, so that it
 * delays no response. Earlier events are buffered, and counted then.
 */
export function createLazyMetrics(clock: Clock, events: EventStream, gauges: Gauges): Metrics {
  const add = events.hold(countedEvents);
  let loading: Promise<Metrics> | undefined;
  const load = (): Promise<Metrics> => {
    loading ??= import('./metrics.ts').then(({ createMetrics }) => {
      const { metrics, reader } = createMetrics(gauges);
      add(reader);
      return metrics;
    });
    return loading;
  };
  clock.after(LOAD_AFTER_MS, () => void load());
  return {
    async render() {
      const metrics = await load();
      events.emit('look', null);
      return metrics.render();
    },
  };
}
