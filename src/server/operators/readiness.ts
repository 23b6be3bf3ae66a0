import type { UpstreamName } from '../../errors.ts';
import type { Health } from '../../observe/health.ts';
import type { Client } from '../../upstream/client.ts';

/** Whether requests should be sent here, and what is wrong otherwise. */
export interface Readiness {
  readonly ready: boolean;
  /** Why it is not ready. */
  readonly reasons: readonly { readonly reason: 'draining' }[];
  /** What it makes do without: cached answers are served all the same, and no other replica does better. */
  readonly degraded: readonly {
    readonly reason: 'budget-paused' | 'upstream-unreachable';
    readonly upstream: UpstreamName;
    readonly retryAfterMs?: number;
  }[];
}

/**
 * Not ready only while it drains. It is degraded while an upstream has paused every key in use, and while
 * an upstream did not answer lately. A gateway that has not asked anything yet is neither.
 */
export function readiness(
  clients: readonly Client[],
  health: Health,
  draining: boolean,
): Readiness {
  const degraded: Readiness['degraded'][number][] = [];
  for (const client of clients) {
    const { upstream } = client;
    const pauses = [...client.budgets].map(({ pausedMs }) => pausedMs);
    const retryAfterMs = Math.ceil(pauses.reduce((least, ms) => Math.min(least, ms), Infinity));
    if (pauses.length > 0 && retryAfterMs > 0) {
      degraded.push({ reason: 'budget-paused', upstream, retryAfterMs });
    }
    if (!health.isReachable(upstream)) degraded.push({ reason: 'upstream-unreachable', upstream });
  }
  return { ready: !draining, reasons: draining ? [{ reason: 'draining' }] : [], degraded };
}
