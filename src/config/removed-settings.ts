import { type Resource, resourceNames } from '../resources.ts';

/** `TTL_CHANNEL_ITEMS_MS` for `channelItems`. */
const ttlName = (resource: Resource): string =>
  `TTL_${resource.replace(/[A-Z]/g, '_$&').toUpperCase()}_MS`;

const fixed = (value: string): string => `It is ${value}. Remove the variable.`;

const ONE_PROCESS =
  'One process owns the state, in STATE_DIR or in PostgreSQL: see docs/replicas.md. Set DATABASE_URL for processes on several machines, and remove the variable.';

/** What replaces each setting that no longer exists: the start fails with this sentence. */
export const removedSettings: Readonly<Record<string, string>> = {
  AUTH_JWT_CLOCK_TOLERANCE_SECONDS: fixed('always 5 seconds'),
  AUTH_PASSTHROUGH_MAX_KEYS: fixed('always 1000'),
  CACHE_FILE_MAX_BYTES: fixed('always 64 MiB'),
  COMPRESSION: 'A proxy that compresses removes Accept-Encoding. Remove the variable.',
  GRAPHIQL: 'GraphiQL is always served; INTROSPECTION=off hides the schema. Remove the variable.',
  HISTORY_MAX_BYTES: fixed('always 64 MiB'),
  IDEMPOTENCY_MAX_BYTES: fixed('always 32 MiB'),
  JOBS_DIR: 'Jobs are in the store of STATE_DIR. Remove the variable.',
  JOBS_KEEP_MS: fixed('always 7 days'),
  JOBS_MAX: fixed('always 20'),
  JOBS_MAX_PER_CALLER: fixed('always 2'),
  JOBS_MIN_PER_MINUTE: fixed('always 2'),
  LIVE_MAX_AGE_MS: fixed('always 5 minutes'),
  LIVE_MAX_STREAMS: fixed('always 2000'),
  LIVE_MAX_STREAMS_PER_CALLER: fixed('always 500'),
  METRICS: 'Set METRICS_PORT to serve metrics and console to other machines; remove the variable.',
  OPERATION_MAX_ALIASES: fixed('always 50'),
  OPERATION_MAX_DEPTH: fixed('always 15'),
  OPERATION_MAX_DIRECTIVES: fixed('always 50'),
  OPERATION_MAX_FIELDS: fixed('always 500'),
  OPERATION_MAX_TOKENS: fixed('always 2000'),
  REDIS_OUTAGE_READS: ONE_PROCESS,
  REDIS_PREFIX: ONE_PROCESS,
  REDIS_SECRET: ONE_PROCESS,
  REDIS_SECRET_FILE: ONE_PROCESS,
  REDIS_SENTINEL_NAME: ONE_PROCESS,
  REDIS_URL: ONE_PROCESS,
  REDIS_URL_FILE: ONE_PROCESS,
  RESERVE_NEWCOMERS_PERCENT: fixed('always 10'),
  RESERVE_WRITES_PERCENT: fixed('always 10'),
  SANDBOX_LINKS_PORT: 'Use `sandbox --links-port` instead.',
  SANDBOX_MARKET_PORT: 'Use `sandbox --market-port` instead.',
  SHUTDOWN_DELAY_MS: 'Delay SIGTERM instead, in Kubernetes by a `preStop` hook with `sleep`.',
  SHUTDOWN_GRACE_MS: fixed('always 15 seconds'),
  STALE_WHILE_REVALIDATE_MS: fixed('always 15 minutes'),
  UPLOAD_INLINE_MAX_BYTES: fixed('always 8 MiB'),
  UPLOAD_MAX_BYTES: fixed('always 1 GiB'),
  UPLOAD_MAX_CONCURRENT: fixed('always 8'),
  USAGE_MAX_BYTES: fixed('always 64 MiB'),
  WRITE_RESEND_AFTER_MS: 'The gateway sends no write a second time. Remove the variable.',
  WRITE_SETTLE_MS: 'It is half of LINKS_TIMEOUT_MS. Remove the variable.',
  ...Object.fromEntries(
    resourceNames.map((resource) => [ttlName(resource), `Set TTLS={"${resource}": …} instead.`]),
  ),
};

/** A forgotten unit is the likeliest slip, so a name that continues `name` wins over a similar one. */
export function nearest(
  name: string,
  candidates: readonly string[],
): { candidate: string; edits: number } {
  const ranked = candidates.map((candidate) => ({
    candidate,
    edits: candidate.startsWith(name) ? 0 : distance(name, candidate),
  }));
  return ranked.reduce((best, each) => (each.edits < best.edits ? each : best));
}

/** Levenshtein distance: insertions, deletions and replacements that turn `a` into `b`. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
