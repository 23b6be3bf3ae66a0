import type { Authenticator } from '../auth/authenticate.ts';
import type { OwnKeys } from '../config/own-key.ts';
import type { UpstreamName } from '../errors.ts';
import type { Health } from '../observe/health.ts';
import type { Scrub } from '../observe/log/scrub.ts';
import type { IdempotencyGauges } from '../observe/metrics/write-metrics.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Owner } from '../store/engine.ts';
import type { Client } from '../upstream/client.ts';

/** Whether this process is ready for requests, and the reason if not. */
export interface Readiness {
  readonly ready: boolean;
  /** Why it is not ready. */
  readonly reasons: readonly { readonly reason: 'draining' }[];
  /** Its current limitations: cached responses are served nevertheless. */
  readonly degraded: readonly Degradation[];
  /** The process that owns the store, this one; absent where nothing is stored. */
  readonly owner?: { readonly url: string; readonly isThis: true };
}

/** A problem with an upstream or with the store. */
interface Degradation {
  readonly reason:
    | 'budget-paused'
    | 'file-unusable'
    | 'key-rejected'
    | 'limit-too-high'
    | 'state-not-saved'
    | 'upstream-fails'
    | 'upstream-unreachable';
  readonly upstream?: UpstreamName;
  /** Milliseconds until the end of a pause. */
  readonly retryAfterMs?: number;
  /** The configured requests per window, and those that the upstream announces. */
  readonly configured?: number;
  readonly announced?: number;
  /** The setting that names the file. */
  readonly setting?: string;
  /** Why requests fail, in a few words, and the time of the first of them, as ISO 8601. */
  readonly cause?: string;
  readonly since?: string;
}

/** The parts of a running gateway that say how it is. */
interface GatewayParts {
  readonly authenticate: Authenticator;
  readonly clients: readonly Client[];
  readonly clock: Clock;
  readonly health: Health;
  readonly keys: OwnKeys;
  /** This process; `null` where nothing is stored. */
  readonly owner: Pick<Owner, 'url'> | null;
  readonly scrub: Scrub;
  /** Whether the state cannot be saved. */
  readonly idempotency: () => Pick<IdempotencyGauges, 'isSaveFailing'>;
}

/** The current state of the gateway. `draining`: it is about to stop. */
export type GatewayState = (draining: boolean) => Readiness;

/**
 * Not ready only while it drains. It is degraded while
 * an upstream has paused every key in use or grants each of them less than the settings say, rejects the gateway's key,
 * or gave no usable response lately, and while its state cannot be saved. A gateway that has not asked anything
 * yet is neither.
 */
export function readiness(
  { authenticate, clients, clock, health, idempotency, keys: ownKeys, owner, scrub }: GatewayParts,
  draining: boolean,
): Readiness {
  const degraded: Readiness['degraded'][number][] = [];
  const since = (at: number): string => new Date(clock.wall() - (clock.now() - at)).toISOString();
  const unusable = (setting: string): void => {
    degraded.push({ reason: 'file-unusable', setting });
  };
  if (authenticate.isFileUnusable?.()) unusable('AUTH_TOKENS_FILE');
  for (const client of clients) {
    const { upstream } = client;
    if (ownKeys[upstream].isFileUnusable) unusable(`${upstream}_API_KEY_FILE`);
    const { keys, mostGranted, pausedMs } = summaryOf(client);
    const retryAfterMs = Math.ceil(pausedMs);
    if (keys > 0 && retryAfterMs > 0) {
      degraded.push({ reason: 'budget-paused', upstream, retryAfterMs });
    }
    const { rateLimit: configured } = client;
    if (keys > 0 && mostGranted < configured) {
      degraded.push({ reason: 'limit-too-high', upstream, configured, announced: mostGranted });
    }
    const rejectedAt = client.wire.authorization.refusedAt(ownKeys[upstream].credential);
    if (rejectedAt !== undefined) {
      degraded.push({ reason: 'key-rejected', upstream, since: since(rejectedAt) });
    }
    const outage = health.outageOf(upstream);
    if (outage) {
      const reason = outage.isAnswered ? 'upstream-fails' : 'upstream-unreachable';
      degraded.push({ reason, upstream, cause: scrub(outage.reason), since: since(outage.since) });
    }
  }
  if (idempotency().isSaveFailing) degraded.push({ reason: 'state-not-saved' });
  return {
    ready: !draining,
    reasons: draining ? [{ reason: 'draining' }] : [],
    degraded,
    ...(owner && { owner: { url: owner.url, isThis: true } }),
  };
}

/** All keys of an upstream that are in use: how long no request can leave under any of them, and the largest limit. */
function summaryOf({
  budgets,
}: Client): Readonly<Record<'keys' | 'mostGranted' | 'pausedMs', number>> {
  let keys = 0;
  let mostGranted = 0;
  let pausedMs = Number.POSITIVE_INFINITY;
  for (const budget of budgets) {
    keys += 1;
    mostGranted = Math.max(mostGranted, budget.limit);
    pausedMs = Math.min(pausedMs, budget.pausedMs);
  }
  return { keys, mostGranted, pausedMs };
}
