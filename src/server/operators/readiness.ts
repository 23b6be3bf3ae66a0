import type { UpstreamName } from '../../errors.ts';
import type { Health } from '../../observe/health.ts';
import type { Client } from '../../upstream/client.ts';

/** Whether requests should be sent here, and if not, why not and for how long. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly {
    readonly reason: 'draining' | 'budget-paused' | 'upstream-unreachable';
    readonly upstream?: UpstreamName;
    readonly retryAfterMs?: number;
  }[];
}

/**
 * Not ready while it drains, while an upstream has paused every key in use, and while an upstream did
 * not answer lately. A gateway that has not asked anything yet is ready.
 */
export function readiness(
  clients: readonly Client[],
  health: Health,
  draining: boolean,
): Readiness {
  const reasons: Readiness['reasons'][number][] = draining ? [{ reason: 'draining' }] : [];
  for (const client of clients) {
    const { upstream } = client;
    const pauses = [...client.budgets].map(({ pausedMs }) => pausedMs);
    const retryAfterMs = Math.ceil(Math.min(...pauses));
    if (pauses.length > 0 && retryAfterMs > 0) {
      reasons.push({ reason: 'budget-paused', upstream, retryAfterMs });
    }
    if (!health.isReachable(upstream)) reasons.push({ reason: 'upstream-unreachable', upstream });
  }
  return { ready: reasons.length === 0, reasons };
}
