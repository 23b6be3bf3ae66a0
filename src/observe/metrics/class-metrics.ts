import { Counter, type Registry } from 'prom-client';
import { AGENT_CLASS, type CallerClasses, DEFAULT_CLASS } from '../../auth/caller-class.ts';
import type { UpstreamName } from '../../errors.ts';
import { defineGauges } from './gauge.ts';

/** A limit of a class of callers for one upstream, and what of it is used. */
interface ClassQuotaGauge {
  readonly upstream: UpstreamName;
  readonly callerClass: string;
  readonly limit: number;
  readonly used: number;
}

/** The classes of callers. */
export interface ClassGauges {
  /** Only these and the default are labels, and the class of agents from its first request on. */
  readonly configured: CallerClasses;
  /** Of all classes with a limit. */
  readonly quotas: () => readonly ClassQuotaGauge[];
}

/** Counts a request to an upstream, sent for a caller of a class; `null` for a refresh. */
export type CountClass = (upstream: UpstreamName, callerClass: string | null) => void;

/** Represents refreshes, which have no class: no class can have this name. */
const REFRESHES = '(refresh)';

const quotaLabels = ['upstream', 'class'] as const;

/** The metrics of classes of callers. A class that is not configured counts as the default. */
export function createClassMetrics(
  { configured, quotas }: ClassGauges,
  registry: Registry,
): CountClass {
  const labels = new Set([...configured.keys(), DEFAULT_CLASS, REFRESHES]);
  const requests = new Counter({
    name: 'gateway_upstream_requests_by_class_total',
    help: 'Upstream requests by the class of their callers.',
    labelNames: ['upstream', 'class'],
    registers: [registry],
  });
  for (const upstream of ['LINKS', 'MARKET'] as const) {
    for (const each of labels) requests.inc({ upstream, class: each }, 0);
  }
  const gauges = (name: string, help: string, read: (of: ClassQuotaGauge) => number): void =>
    defineGauges(registry, `gateway_class_quota_${name}`, help, quotaLabels, () =>
      quotas().map((quota) => {
        const { callerClass, upstream } = quota;
        return [{ upstream, class: callerClass }, read(quota)];
      }),
    );
  gauges('limit', 'Requests allowed to all callers of a class in a window.', ({ limit }) => limit);
  gauges('used', 'Requests that count against the limit of a class.', ({ used }) => used);
  return (upstream, callerClass) => {
    const name = callerClass ?? REFRESHES;
    const isLabel = labels.has(name) || name === AGENT_CLASS;
    requests.inc({ upstream, class: isLabel ? name : DEFAULT_CLASS });
  };
}
