import { Registry } from 'prom-client';
import { defineGauge } from './gauge.ts';
import type { Metrics } from './metrics.ts';
import { OWNER, ofProcess } from './process-metrics.ts';

/** The numbers of a process that forwards requests to the one that owns the store. */
export interface ForwardingCounts {
  /** Requests since the start, ... */
  readonly requests: number;
  /** ... and how often one was sent again. */
  readonly repeats: number;
}

/** The metrics of a process while another one owns the store. */
export function createWaitingMetrics(counts: ForwardingCounts): Metrics {
  const registry = new Registry();
  defineGauge(registry, 'gateway_owner', OWNER, () => 0);
  const requests = 'Requests forwarded to the owner since the start.';
  defineGauge(registry, 'gateway_forwarded_requests', requests, () => counts.requests);
  const repeats = 'Times that a forwarded request was sent again.';
  defineGauge(registry, 'gateway_forwarded_repeats', repeats, () => counts.repeats);
  return {
    async render() {
      const texts = await Promise.all([ofProcess().metrics(), registry.metrics()]);
      return { contentType: registry.contentType, text: texts.join('\n') };
    },
  };
}
