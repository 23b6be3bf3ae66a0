import { type Resource, resourceNames, resources } from '../resources.ts';

/** What a setting's text must look like. */
export type SettingKind =
  | { readonly type: 'text' }
  | { readonly type: 'integer'; readonly min: number; readonly max: number }
  | { readonly type: 'flag' }
  | { readonly type: 'choice'; readonly choices: readonly string[] }
  | { readonly type: 'baseUrl' }
  | { readonly type: 'url' }
  | { readonly type: 'origins' }
  | { readonly type: 'timeZone' };

/** One environment variable: the loader, `--help` and docs/configuration.md are all made from these. */
export interface Setting {
  readonly name: string;
  readonly kind: SettingKind;
  /** As it would be written in the environment; `null` when the variable has no default. */
  readonly default: string | null;
  /** One sentence or two for the operator. */
  readonly doc: string;
  /** True when the value is never shown, and may also come from the file that `<name>_FILE` names. */
  readonly secret?: true;
}

const day = 86_400_000;
const integer = (min: number, max: number): SettingKind => ({ type: 'integer', min, max });

/** Milliseconds long enough to be one call's patience; timers cannot hold more than 24 days. */
const duration = integer(1, day);

/** `TTL_CHANNEL_ITEMS_MS` for `channelItems`. */
export function ttlName(resource: Resource): string {
  return `TTL_${resource.replace(/[A-Z]/g, '_$&').toUpperCase()}_MS`;
}

const rateLimitDoc = 'Requests the upstream allows per window and API key.';
const windowDoc =
  'Length of the rate limit’s window. It slides: no interval of this length is ever over.';
const timeoutDoc = 'How long one upstream request may take before it counts as failed.';

/** Every variable that the gateway reads, in the order a person would want to read about them. */
export const settings: readonly Setting[] = [
  {
    name: 'PORT',
    kind: integer(0, 65_535),
    default: '4000',
    doc: 'Port to listen on; 0 picks a free one.',
  },
  {
    name: 'HOST',
    kind: { type: 'text' },
    default: '127.0.0.1',
    doc: 'Address to listen on; 0.0.0.0 is every network this machine is in.',
  },
  {
    name: 'LINKS_BASE_URL',
    kind: { type: 'baseUrl' },
    default: null,
    doc: 'Where the link-management API lives, without `/api`; a path prefix is kept. With neither base URL set, the gateway runs on its sandbox.',
  },
  {
    name: 'LINKS_API_KEY',
    kind: { type: 'text' },
    default: null,
    doc: 'The API key for it.',
    secret: true,
  },
  { name: 'LINKS_RATE_LIMIT', kind: integer(1, 1_000_000), default: '30', doc: rateLimitDoc },
  { name: 'LINKS_RATE_WINDOW_MS', kind: duration, default: '60000', doc: windowDoc },
  {
    name: 'LINKS_PAGE_SIZE',
    kind: integer(1, 10_000),
    default: '100',
    doc: 'Rows to ask for per list call; the more, the fewer calls. A smaller page in the answer is noticed.',
  },
  {
    name: 'LINKS_TIMEZONE',
    kind: { type: 'timeZone' },
    default: 'UTC',
    doc: 'IANA name of the zone of its timestamps, which carry none.',
  },
  { name: 'LINKS_TIMEOUT_MS', kind: duration, default: '10000', doc: timeoutDoc },
  {
    name: 'MARKET_BASE_URL',
    kind: { type: 'baseUrl' },
    default: null,
    doc: 'Where the marketplace API lives, without `/api`; a path prefix is kept.',
  },
  {
    name: 'MARKET_API_KEY',
    kind: { type: 'text' },
    default: null,
    doc: 'The API key for it.',
    secret: true,
  },
  { name: 'MARKET_RATE_LIMIT', kind: integer(1, 1_000_000), default: '60', doc: rateLimitDoc },
  { name: 'MARKET_RATE_WINDOW_MS', kind: duration, default: '60000', doc: windowDoc },
  { name: 'MARKET_TIMEOUT_MS', kind: duration, default: '10000', doc: timeoutDoc },
  {
    name: 'MARKET_POST_ENCODING',
    kind: { type: 'choice', choices: ['json', 'form', 'query'] },
    default: 'json',
    doc: 'How its POST parameters travel; the installations differ.',
  },
  {
    name: 'MAX_WAIT_MS',
    kind: integer(0, day),
    default: '10000',
    doc: 'How long a read may wait for its turn under the rate limit before it answers `BUDGET_EXHAUSTED`. A caller may prefer less, never more.',
  },
  {
    name: 'STATE_DIR',
    kind: { type: 'text' },
    default: 'state',
    doc: 'Folder in which the process notes what it spends, so that the next one does not spend it again; `off` for none. Without one, half of each rate limit is left alone for one window after a start, or until the upstream says what is left.',
  },
  {
    name: 'REDIS_URL',
    kind: { type: 'text' },
    default: null,
    doc: 'The Redis that several processes share, which then keep one rate limit and one cache: `redis://` or `rediss://` with password and database. Several, separated by commas, are Sentinels.',
    secret: true,
  },
  {
    name: 'REDIS_SECRET',
    kind: { type: 'text' },
    default: null,
    doc: 'With `REDIS_URL`: what shared answers are sealed with, at least 32 characters, the same for all processes.',
    secret: true,
  },
  {
    name: 'REDIS_SENTINEL_NAME',
    kind: { type: 'text' },
    default: null,
    doc: 'The name that the Sentinels have for the master. With it, `REDIS_URL` names Sentinels.',
  },
  {
    name: 'REDIS_PREFIX',
    kind: { type: 'text' },
    default: 'gateway',
    doc: 'What the names of all keys begin with: processes that share one upstream key must share this too, and others must not.',
  },
  {
    name: 'REDIS_OUTAGE_READS',
    kind: { type: 'choice', choices: ['stale', 'refuse'] },
    default: 'stale',
    doc: 'What reads get while Redis is away: `stale` what this process has kept, marked as such, or `refuse` nothing, and `/readyz` says no.',
  },
  {
    name: 'AUTH_MODE',
    kind: { type: 'choice', choices: ['none', 'token', 'jwt', 'passthrough'] },
    default: null,
    doc: 'Who may ask: `none` everyone who reaches the port, `token` who has a token of `AUTH_TOKENS_FILE`, `jwt` who has one of an identity provider, `passthrough` who has a key of the link-management API. With a real upstream it must be set, so that nobody opens an account to the network by accident.',
  },
  {
    name: 'AUTH_TOKENS_FILE',
    kind: { type: 'text' },
    default: null,
    doc: 'With `token`: the file that `npm run token` writes. It is read again when it changes.',
  },
  {
    name: 'AUTH_JWT_JWKS_URL',
    kind: { type: 'url' },
    default: null,
    doc: 'With `jwt`: where the identity provider publishes its keys (a JWKS).',
  },
  {
    name: 'AUTH_JWT_SECRET',
    kind: { type: 'text' },
    default: null,
    doc: 'With `jwt`, instead of its keys: the secret shared with the provider, at least 32 characters. Tokens are then signed with HS256.',
    secret: true,
  },
  {
    name: 'AUTH_JWT_ISSUER',
    kind: { type: 'text' },
    default: null,
    doc: 'With `jwt`: what the `iss` of a token must be.',
  },
  {
    name: 'AUTH_JWT_AUDIENCE',
    kind: { type: 'text' },
    default: null,
    doc: 'With `jwt`: what must be in the `aud` of a token.',
  },
  {
    name: 'AUTH_JWT_ROLES_CLAIM',
    kind: { type: 'text' },
    default: 'roles',
    doc: 'With `jwt`: the claim that holds `viewer`, `editor` or `admin`, by its name or by a path such as `realm_access.roles`.',
  },
  {
    name: 'AUTH_JWT_CLOCK_TOLERANCE_SECONDS',
    kind: integer(0, 600),
    default: '5',
    doc: 'With `jwt`: how far the clock of the provider may be from ours.',
  },
  {
    name: 'AUTH_PASSTHROUGH_MAX_KEYS',
    kind: integer(1, 100_000),
    default: '1000',
    doc: 'With `passthrough`: how many keys that were accepted may have used some of their rate limit at a time. A further one is told to wait.',
  },
  {
    name: 'CORS_ORIGINS',
    kind: { type: 'origins' },
    default: null,
    doc: 'Origins, separated by commas, whose pages may call the gateway from a browser.',
  },
  {
    name: 'EXPOSE_USER_API_KEYS',
    kind: { type: 'flag' },
    default: 'false',
    doc: 'Whether `User.apiKey` answers at all.',
  },
  {
    name: 'ALLOWED_HOSTS',
    kind: { type: 'text' },
    default: null,
    doc: 'Host names, separated by commas, under which the gateway may be asked, besides `localhost` and addresses. Without any, a gateway that listens on this machine only refuses every other name, and one that listens beyond it takes all.',
  },
  {
    name: 'PERSISTED_OPERATIONS_FILE',
    kind: { type: 'text' },
    default: null,
    doc: 'A file of operations by id, as Relay or Apollo write it. With it, these are answered by their ids, and everything else is refused.',
  },
  {
    name: 'OPERATION_MAX_TOKENS',
    kind: integer(1, 1_000_000),
    default: '2000',
    doc: 'Words and signs that the text of an operation may have.',
  },
  {
    name: 'OPERATION_MAX_DEPTH',
    kind: integer(1, 1000),
    default: '15',
    doc: 'How deep selections may stand inside one another.',
  },
  {
    name: 'OPERATION_MAX_ALIASES',
    kind: integer(0, 10_000),
    default: '50',
    doc: 'Aliases that an operation may have.',
  },
  {
    name: 'OPERATION_MAX_DIRECTIVES',
    kind: integer(0, 10_000),
    default: '50',
    doc: 'Directives that an operation may have.',
  },
  {
    name: 'OPERATION_MAX_FIELDS',
    kind: integer(1, 1_000_000),
    default: '500',
    doc: 'Fields that the text of an operation may have, those of fragments counted wherever they are used. Checking a text takes the square of what is selected twice.',
  },
  {
    name: 'OPERATION_MAX_NODES',
    kind: integer(1, 1_000_000_000),
    default: '100000',
    doc: 'Rows that an operation may ask for, multiplied down its selection.',
  },
  {
    name: 'OPERATION_MAX_CALLS',
    kind: integer(1, 1_000_000),
    default: null,
    doc: 'Requests that an operation may make to each API. Never more than the rate limit of that API, which is also what it is without a word.',
  },
  {
    name: 'LIVE_MAX_STREAMS',
    kind: integer(0, 100_000),
    default: '2000',
    doc: 'Live queries that may be open at a time, each some 17 kB of memory; 0 for none: `@live` then does nothing.',
  },
  {
    name: 'LIVE_MAX_STREAMS_PER_CALLER',
    kind: integer(1, 100_000),
    default: '500',
    doc: 'Live queries that one caller may have open.',
  },
  {
    name: 'LIVE_MAX_AGE_MS',
    kind: integer(1000, 86_400_000),
    default: '300000',
    doc: 'How long the stream of a live query goes on at most, and three quarters of it at least. Its viewer then comes back by itself and goes on where it was, at no upstream cost. A viewer whose network is gone is kept for no longer.',
  },
  {
    name: 'INTROSPECTION',
    kind: { type: 'flag' },
    default: null,
    doc: 'Whether the graph may be asked for its schema, as GraphiQL does, and suggests names for misspelled ones. Without a word: on the sandbox yes, on a real upstream no.',
  },
  {
    name: 'GRAPHIQL',
    kind: { type: 'flag' },
    default: 'true',
    doc: 'Whether a browser that opens `/graphql` gets GraphiQL.',
  },
  {
    name: 'COMPRESSION',
    kind: { type: 'choice', choices: ['on', 'off'] },
    default: 'on',
    doc: 'Whether responses above 1 kB are compressed as `Accept-Encoding` asks, except those with secrets; `off` behind a proxy that compresses.',
  },
  {
    name: 'CACHE_MAX_BYTES',
    kind: integer(1, 2 ** 40),
    default: String(64 * 1024 * 1024),
    doc: 'Memory for cache entries and remembered answers; the least recently used go first.',
  },
  {
    name: 'UPLOAD_MAX_BYTES',
    kind: integer(1, 2 ** 40),
    default: String(1024 * 1024 * 1024),
    doc: 'Largest file that `PUT /files/:filename` takes. It passes through; the upstream may have a limit of its own.',
  },
  {
    name: 'UPLOAD_MAX_CONCURRENT',
    kind: integer(1, 1000),
    default: '8',
    doc: 'Uploads that may be under way at a time with one API key, and no more than half of its rate limit; one caller may have half of them.',
  },
  {
    name: 'UPLOAD_INLINE_MAX_BYTES',
    kind: integer(1, 2 ** 30),
    default: String(8 * 1024 * 1024),
    doc: 'Largest file that the mutation `uploadFile` takes. Such a request is held in memory as a whole.',
  },
  {
    name: 'LOG_LEVEL',
    kind: { type: 'choice', choices: ['error', 'warn', 'info', 'debug', 'silent'] },
    default: 'info',
    doc: 'What is logged: `warn` upstream failures and refusals, `info` also one line an operation, `debug` also every upstream call.',
  },
  {
    name: 'METRICS',
    kind: { type: 'choice', choices: ['local', 'open', 'off'] },
    default: 'local',
    doc: 'Who may see `/metrics` and `/console`: callers on this machine, everyone who reaches the port, or nobody. Names of callers are shown to this machine and to administrators only.',
  },
  {
    name: 'SHUTDOWN_DELAY_MS',
    kind: integer(0, 600_000),
    default: '0',
    doc: 'How long after SIGTERM requests are still taken while `/readyz` already says no, so that a load balancer can turn away first.',
  },
  {
    name: 'SHUTDOWN_GRACE_MS',
    kind: integer(0, 600_000),
    default: '15000',
    doc: 'How long running operations and writes may then take to finish. What waits for it must wait longer than both together.',
  },
  {
    name: 'STALE_WHILE_REVALIDATE_MS',
    kind: integer(0, day),
    default: '900000',
    doc: 'How long after its ttl an answer may still be served at once while it is refreshed: longer than a round of refreshing everything that is wanted takes.',
  },
  {
    name: 'STALE_IF_ERROR_MS',
    kind: integer(0, day),
    default: '86400000',
    doc: 'How long after that an answer may stand in when the upstream or the budget has nothing newer.',
  },
  ...resourceNames.map((resource) => ({
    name: ttlName(resource),
    kind: integer(0, day),
    default: String(resources[resource].ttlMs),
    doc: resources[resource].why,
  })),
];
