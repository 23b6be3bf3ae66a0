import { type Resource, resourceNames, resources } from '../resources.ts';

/** What a setting's text must look like. */
export type SettingKind =
  | { readonly type: 'text' }
  | { readonly type: 'integer'; readonly min: number; readonly max: number }
  | { readonly type: 'flag' }
  | {
      readonly type: 'choice';
      readonly choices: readonly string[];
      /** Other words for them, as earlier versions had. */
      readonly synonyms?: Readonly<Record<string, string>>;
    }
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

/** One day, in milliseconds: timers cannot hold more than 24 of them. */
const DAY_MS = 86_400_000;

type Entry = Omit<Setting, 'name'>;

const entry = (
  kind: SettingKind,
  value: string | number | boolean | null,
  more: Pick<Setting, 'secret'> = {},
) => ({
  describe: (doc: string): Entry => {
    return { kind, default: value === null ? null : String(value), doc, ...more };
  },
});
const text = (value: string | null) => entry({ type: 'text' }, value);
const secret = entry({ type: 'text' }, null, { secret: true });
const flag = (value: boolean | null) => entry({ type: 'flag' }, value);
const integer = (min: number, max: number, value: number | null) =>
  entry({ type: 'integer', min, max }, value);
const choice = (
  choices: readonly string[],
  value: string | null,
  synonyms?: Readonly<Record<string, string>>,
) => entry({ type: 'choice', choices, ...(synonyms && { synonyms }) }, value);

/** `TTL_CHANNEL_ITEMS_MS` for `channelItems`. */
export function ttlName(resource: Resource): string {
  return `TTL_${resource.replace(/[A-Z]/g, '_$&').toUpperCase()}_MS`;
}

const rateLimitDoc = 'Requests the upstream allows per window and API key.';
const windowDoc =
  'Length of the rate limit’s window. It slides: no interval of this length is ever over.';
const timeoutDoc = 'How long one upstream request may take before it counts as failed.';

/** By name, in the order a person would want to read about them. */
const table: Readonly<Record<string, Entry>> = {
  PORT: integer(0, 65_535, 4000).describe('Port to listen on; 0 picks a free one.'),
  HOST: text('127.0.0.1').describe(
    'Address to listen on; 0.0.0.0 is every network this machine is in.',
  ),
  LINKS_BASE_URL: entry({ type: 'baseUrl' }, null).describe(
    'Where the link-management API lives, without `/api`; a path prefix is kept. With neither base URL set, the gateway runs on its sandbox.',
  ),
  LINKS_API_KEY: secret.describe('The API key for it.'),
  LINKS_RATE_LIMIT: integer(1, 1_000_000, 30).describe(rateLimitDoc),
  LINKS_RATE_WINDOW_MS: integer(1, DAY_MS, 60_000).describe(windowDoc),
  LINKS_PAGE_SIZE: integer(1, 10_000, 100).describe(
    'Rows to ask for per list call; the more, the fewer calls. A smaller page in the answer is noticed.',
  ),
  LINKS_TIMEZONE: entry({ type: 'timeZone' }, 'UTC').describe(
    'IANA name of the zone of its timestamps, which carry none.',
  ),
  LINKS_TIMEOUT_MS: integer(1, DAY_MS, 10_000).describe(timeoutDoc),
  MARKET_BASE_URL: entry({ type: 'baseUrl' }, null).describe(
    'Where the marketplace API lives, without `/api`; a path prefix is kept.',
  ),
  MARKET_API_KEY: secret.describe('The API key for it.'),
  MARKET_RATE_LIMIT: integer(1, 1_000_000, 60).describe(rateLimitDoc),
  MARKET_RATE_WINDOW_MS: integer(1, DAY_MS, 60_000).describe(windowDoc),
  MARKET_TIMEOUT_MS: integer(1, DAY_MS, 10_000).describe(timeoutDoc),
  MARKET_POST_ENCODING: choice(['json', 'form', 'query'], 'json').describe(
    'How its POST parameters travel; the installations differ.',
  ),
  SANDBOX_LINKS_PORT: integer(0, 65_535, null).describe(
    'Port of the sandbox’s link-management API, on 127.0.0.1. Default: any free port; with the command `sandbox` 4010.',
  ),
  SANDBOX_MARKET_PORT: integer(0, 65_535, null).describe(
    'Port of the sandbox’s marketplace API, on 127.0.0.1. Default: any free port; with the command `sandbox` 4020.',
  ),
  MAX_WAIT_MS: integer(0, DAY_MS, 10_000).describe(
    'How long a read may wait for its turn under the rate limit before it answers `BUDGET_EXHAUSTED`. A caller may prefer less, never more.',
  ),
  STATE_DIR: text('state').describe(
    'Folder in which the process notes what it spends, so that the next one does not spend it again, and keeps the last hour of the console; `off` for none. Without one, half of each rate limit is left alone for one window after a start, or until the upstream says what is left.',
  ),
  REDIS_URL: secret.describe(
    'The Redis that several processes share, which then keep one rate limit and one cache: `redis://` or `rediss://` with password and database. Several, separated by commas, are Sentinels.',
  ),
  REDIS_SECRET: secret.describe(
    'With `REDIS_URL`: what shared answers are sealed with, at least 32 characters, the same for all processes.',
  ),
  REDIS_SENTINEL_NAME: text(null).describe(
    'The name that the Sentinels have for the master. With it, `REDIS_URL` names Sentinels.',
  ),
  REDIS_PREFIX: text('gateway').describe(
    'What the names of all keys begin with: processes that share one upstream key must share this too, and others must not.',
  ),
  REDIS_OUTAGE_READS: choice(['stale', 'refuse'], 'stale').describe(
    'What reads get while Redis is away: `stale` what this process has kept, marked as such, or `refuse` nothing, and `/readyz` says no.',
  ),
  AUTH_MODE: choice(['none', 'token', 'jwt', 'passthrough'], null).describe(
    'Who may ask: `none` everyone who reaches the port, `token` who has a token of `AUTH_TOKENS_FILE`, `jwt` who has one of an identity provider, `passthrough` who has a key of the link-management API. With a real upstream it must be set, so that no account is opened to the network by accident.',
  ),
  AUTH_TOKENS_FILE: text(null).describe(
    'With `token`: the file that the command `token` writes. It is read again when it changes.',
  ),
  AUTH_JWT_JWKS_URL: entry({ type: 'url' }, null).describe(
    'With `jwt`: where the identity provider publishes its keys (a JWKS).',
  ),
  AUTH_JWT_SECRET: secret.describe(
    'With `jwt`, instead of its keys: the secret shared with the provider, at least 32 characters. Tokens are then signed with HS256.',
  ),
  AUTH_JWT_ISSUER: text(null).describe('With `jwt`: what the `iss` of a token must be.'),
  AUTH_JWT_AUDIENCE: text(null).describe('With `jwt`: what must be in the `aud` of a token.'),
  AUTH_JWT_ROLES_CLAIM: text('roles').describe(
    'With `jwt`: the claim that holds `viewer`, `editor` or `admin`, by its name or by a path such as `realm_access.roles`.',
  ),
  AUTH_JWT_CLOCK_TOLERANCE_SECONDS: integer(0, 600, 5).describe(
    'With `jwt`: how far the clock of the provider may be from ours.',
  ),
  AUTH_PASSTHROUGH_MAX_KEYS: integer(1, 100_000, 1000).describe(
    'With `passthrough`: how many keys that were accepted may have used some of their rate limit at a time. A further one gets `BUDGET_EXHAUSTED`, and the time after which to try again.',
  ),
  CORS_ORIGINS: entry({ type: 'origins' }, null).describe(
    'Origins, separated by commas, whose pages may call the gateway from a browser.',
  ),
  EXPOSE_USER_API_KEYS: flag(false).describe('Whether `User.apiKey` answers at all.'),
  ALLOWED_HOSTS: text(null).describe(
    'Host names, separated by commas, under which the gateway may be asked, besides `localhost` and addresses. Without any, a gateway that listens on this machine only refuses every other name, and one that listens beyond it takes all.',
  ),
  PERSISTED_OPERATIONS_FILE: text(null).describe(
    'A file of operations by id, as Relay or Apollo write it. With it, these are answered by their ids, and everything else is refused.',
  ),
  OPERATION_MAX_TOKENS: integer(1, 1_000_000, 2000).describe(
    'Words and signs that the text of an operation may have.',
  ),
  OPERATION_MAX_DEPTH: integer(1, 1000, 15).describe(
    'How deep selections may stand inside one another.',
  ),
  OPERATION_MAX_ALIASES: integer(0, 10_000, 50).describe('Aliases that an operation may have.'),
  OPERATION_MAX_DIRECTIVES: integer(0, 10_000, 50).describe(
    'Directives that an operation may have.',
  ),
  OPERATION_MAX_FIELDS: integer(1, 1_000_000, 500).describe(
    'Fields that the text of an operation may have, those of fragments counted wherever they are used. Checking a text takes the square of what is selected twice.',
  ),
  OPERATION_MAX_NODES: integer(1, 1_000_000_000, 100_000).describe(
    'Rows that an operation may ask for, multiplied down its selection.',
  ),
  OPERATION_MAX_CALLS: integer(1, 1_000_000, null).describe(
    'Requests that an operation may make to each API. Never more than the rate limit of that API, which is also what it is without a word.',
  ),
  LIVE_MAX_STREAMS: integer(0, 100_000, 2000).describe(
    'Live queries that may be open at a time, each some 17 kB of memory; 0 for none: `@live` then does nothing.',
  ),
  LIVE_MAX_STREAMS_PER_CALLER: integer(1, 100_000, 500).describe(
    'Live queries that one caller may have open.',
  ),
  LIVE_MAX_AGE_MS: integer(1000, DAY_MS, 300_000).describe(
    'How long the stream of a live query goes on at most, and three quarters of it at least. Its viewer then comes back by itself and goes on where it was, at no upstream cost. A viewer whose network is gone is kept for no longer.',
  ),
  INTROSPECTION: choice(['callers', 'on', 'off'], null, { true: 'on', false: 'off' }).describe(
    'Who may ask for the schema, as GraphiQL does, and gets suggestions for misspelled names: `callers` with a valid token or key, `on` everyone, `off` no one. The default is `callers`; on the sandbox without `AUTH_MODE` it is `on`. `true` and `false` stand for `on` and `off`.',
  ),
  GRAPHIQL: flag(true).describe('Whether a browser that opens `/graphql` gets GraphiQL.'),
  COMPRESSION: choice(['on', 'off'], 'on').describe(
    'Whether responses above 1 kB are compressed as `Accept-Encoding` asks, except those with secrets; `off` behind a proxy that compresses.',
  ),
  CACHE_MAX_BYTES: integer(1, 2 ** 40, 64 * 1024 * 1024).describe(
    'Memory for cache entries and remembered answers; the least recently used go first.',
  ),
  UPLOAD_MAX_BYTES: integer(1, 2 ** 40, 1024 * 1024 * 1024).describe(
    'Largest file that `PUT /files/:filename` takes. It passes through; the upstream may have a limit of its own.',
  ),
  UPLOAD_MAX_CONCURRENT: integer(1, 1000, 8).describe(
    'Uploads that may be under way at a time with one API key, and no more than half of its rate limit; one caller may have half of them.',
  ),
  UPLOAD_INLINE_MAX_BYTES: integer(1, 2 ** 30, 8 * 1024 * 1024).describe(
    'Largest file that the mutation `uploadFile` takes. Such a request is held in memory as a whole.',
  ),
  LOG_LEVEL: choice(['error', 'warn', 'info', 'debug', 'silent'], 'info').describe(
    'What is logged: `warn` upstream failures and refusals, `info` also one line an operation, `debug` also every upstream call.',
  ),
  METRICS: choice(['local', 'open', 'off'], 'local').describe(
    'Who may see `/metrics` and `/console`: callers on this machine, everyone who reaches the port, or no one. Names of callers are shown to this machine and to administrators only.',
  ),
  METRICS_PORT: integer(0, 65_535, null).describe(
    'A port for `/metrics`, the console and the probes alone, on the address of `HOST`. `PORT` then answers neither metrics nor console, and the probes still. 0 picks a free one.',
  ),
  SHUTDOWN_DELAY_MS: integer(0, 600_000, 0).describe(
    'How long after SIGTERM requests are still taken while `/readyz` already says no, so that a load balancer can turn away first.',
  ),
  SHUTDOWN_GRACE_MS: integer(0, 600_000, 15_000).describe(
    'How long running operations and writes may then take to finish. What waits for it must wait longer than both together.',
  ),
  STALE_WHILE_REVALIDATE_MS: integer(0, DAY_MS, 900_000).describe(
    'How long after its ttl an answer may still be served at once while it is refreshed: longer than a round of refreshing everything that is wanted takes.',
  ),
  STALE_IF_ERROR_MS: integer(0, DAY_MS, DAY_MS).describe(
    'How long after that an answer may stand in when the upstream or the budget has nothing newer.',
  ),
};

/** Every variable that the gateway reads, in the order of the table. */
export const settings: readonly Setting[] = [
  ...Object.entries(table).map(([name, entry]) => ({ name, ...entry })),
  ...resourceNames.map((resource) => {
    const { ttlMs, why } = resources[resource];
    return { name: ttlName(resource), ...integer(0, DAY_MS, ttlMs).describe(why) };
  }),
];
