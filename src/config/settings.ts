/** The format of a setting's text. */
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
  /** One or two sentences for the operator. */
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

const rateLimitDoc = 'Requests that the API allows per window and key.';
const windowDoc = 'Length of the sliding window of the rate limit.';
const timeoutDoc = 'Timeout of one upstream request.';

/** The settings by name, in the order of the documentation. */
const table: Readonly<Record<string, Entry>> = {
  PORT: integer(0, 65_535, 4000).describe('Port to listen on; 0 selects a free port.'),
  HOST: text('127.0.0.1').describe(
    'Address to listen on; 0.0.0.0 for all networks of this machine.',
  ),
  LINKS_BASE_URL: entry({ type: 'baseUrl' }, null).describe(
    'Base URL of the link-management API, without `/api`; a path prefix is kept. If neither base URL is set, the gateway runs on its sandbox.',
  ),
  LINKS_API_KEY: secret.describe('API key of the link-management API.'),
  LINKS_RATE_LIMIT: integer(1, 1_000_000, 30).describe(rateLimitDoc),
  LINKS_RATE_WINDOW_MS: integer(1, DAY_MS, 60_000).describe(windowDoc),
  LINKS_PAGE_SIZE: integer(1, 10_000, 100).describe(
    'Items per upstream page of a list; larger pages cost fewer upstream requests. If the API returns smaller pages, the gateway uses their size.',
  ),
  LINKS_TIMEZONE: entry({ type: 'timeZone' }, 'UTC').describe(
    'IANA name of the time zone of the timestamps of the link-management API, which contain none.',
  ),
  LINKS_TIMEOUT_MS: integer(1, DAY_MS, 10_000).describe(
    `${timeoutDoc} After half of it more, the effect of a lost write is looked for.`,
  ),
  MARKET_BASE_URL: entry({ type: 'baseUrl' }, null).describe(
    'Base URL of the marketplace API, without `/api`; a path prefix is kept.',
  ),
  MARKET_API_KEY: secret.describe('API key of the marketplace API.'),
  MARKET_RATE_LIMIT: integer(1, 1_000_000, 60).describe(rateLimitDoc),
  MARKET_RATE_WINDOW_MS: integer(1, DAY_MS, 60_000).describe(windowDoc),
  MARKET_TIMEOUT_MS: integer(1, DAY_MS, 10_000).describe(timeoutDoc),
  MARKET_POST_ENCODING: choice(['json', 'form', 'query'], 'json').describe(
    'Encoding of POST parameters, which depends on the installation.',
  ),
  SANDBOX: choice(['on', 'off'], null).describe(
    'Whether the gateway runs on its sandbox if neither base URL is set. The default is `on` on a loopback address; with `NODE_ENV=production` or any other `HOST` the gateway does not start without `on`.',
  ),
  MAX_WAIT_MS: integer(0, DAY_MS, 10_000).describe(
    'Maximum time that a read waits for a slot of the rate limit before it fails with `BUDGET_EXHAUSTED`. A client can shorten it, not extend it.',
  ),
  CALLER_CLASSES: text('{}').describe(
    'Classes of callers as JSON, such as `{"agent": {"weight": 1, "maxCallsPerMinute": 8}}`: see [classes](budget.md#classes). The class of a caller is in its token or JWT; all others are in `default`. The class `agent` exists although it is not named.',
  ),
  STATE_DIR: text('state').describe(
    'Folder in which the process saves its sent requests, the cache, the outcomes of mutations with idempotency keys and the history of counts for the next process; `off` disables it. Without it, each start uses only half of each rate limit for one window, or until the API reports what remains.',
  ),
  DATABASE_URL: secret.describe(
    'PostgreSQL database for the state of processes on several machines, instead of `STATE_DIR`: `postgres://user:password@host/database`. See [several processes](replicas.md).',
  ),
  ADVERTISE_URL: entry({ type: 'baseUrl' }, null).describe(
    'URL at which other processes with the same `STATE_DIR` or `DATABASE_URL` reach this one, without a path: they forward requests to the process that owns the state. Required with `DATABASE_URL` on several machines; the default is the address on which it listens.',
  ),
  JOBS_MAX_BYTES: integer(0, 1024 ** 4, 1024 ** 3).describe(
    'Maximum size of the output of all [jobs](jobs.md); at most 64 MiB without `STATE_DIR`. Jobs that would exceed it are paused.',
  ),
  AUTH_MODE: choice(['none', 'token', 'jwt', 'passthrough'], null).describe(
    'Authentication of callers: `none`, `token` by `AUTH_TOKENS_FILE`, `jwt` by an identity provider, `passthrough` by API keys of the link-management API. Required with a real API, so that no account is exposed by accident.',
  ),
  AUTH_TOKENS_FILE: text(null).describe(
    'For `token`: file created by the command `token`. Changes are read while the gateway runs.',
  ),
  AUTH_JWT_JWKS_URL: entry({ type: 'url' }, null).describe(
    'For `jwt`: URL of the identity provider’s keys (JWKS).',
  ),
  AUTH_JWT_SECRET: secret.describe(
    'For `jwt`, instead of a JWKS: secret shared with the identity provider, at least 32 characters. Tokens are then signed with HS256.',
  ),
  AUTH_JWT_ISSUER: text(null).describe('For `jwt`: required value of `iss`.'),
  AUTH_JWT_AUDIENCE: text(null).describe('For `jwt`: required value in `aud`.'),
  AUTH_JWT_ROLES_CLAIM: text('roles').describe(
    'For `jwt`: name of the claim with `viewer`, `editor` or `admin`, or a path such as `realm_access.roles`.',
  ),
  AUTH_JWT_CLASS_CLAIM: text(null).describe(
    'For `jwt`: name of the claim with a class of `CALLER_CLASSES`, or a path. Without it, all callers are in the class `default`.',
  ),
  CORS_ORIGINS: entry({ type: 'origins' }, null).describe(
    'Origins of pages that may call the gateway from a browser, separated by commas.',
  ),
  EXPOSE_USER_API_KEYS: flag(false).describe('Whether `User.apiKey` can be read.'),
  ALLOWED_HOSTS: text(null).describe(
    'Additional host names of the gateway, separated by commas. Without them, a gateway on a loopback address accepts only `localhost` and IP addresses, and any other gateway accepts all names.',
  ),
  PERSISTED_OPERATIONS_FILE: text(null).describe(
    'JSON file with operations by id, as Relay and Apollo write it. If set, only these operations are allowed, by id.',
  ),
  OPERATION_MAX_NODES: integer(1, 1_000_000_000, 100_000).describe(
    'Maximum number of items that an operation may request, multiplied over all levels.',
  ),
  OPERATION_MAX_CALLS: integer(1, 1_000_000, null).describe(
    'Maximum number of upstream requests per operation to each API, at most its rate limit. The default is two thirds of the rate limit.',
  ),
  INTROSPECTION: choice(['callers', 'on', 'off'], null, { true: 'on', false: 'off' }).describe(
    'Access to the schema by introspection, and to suggestions for misspelled names: `callers` with a valid credential, `on` for all, `off` for none. The default is `callers`; on the sandbox without `AUTH_MODE` it is `on`. `true` and `false` mean `on` and `off`.',
  ),
  MCP: flag(null).describe(
    'Whether [AI agents](agents.md) can use the gateway at `/mcp`. The default is `true`; with `AUTH_MODE=passthrough` it is `false`, because an agent would have an API key.',
  ),
  MCP_CHANGES: choice(['off', 'on'], 'off').describe(
    'Whether AI agents have a tool that changes something. Their program asks its user before it calls that tool; the gateway does not enforce it.',
  ),
  CACHE_MAX_BYTES: integer(1, 2 ** 40, 64 * 1024 * 1024).describe(
    'Memory for cache entries and remembered responses; the least recently used are removed first.',
  ),
  HISTORY_WATCH: text(null).describe(
    'Lists that are read once a day for the history of counts, separated by commas, such as `qrCodes,files,seller`: between 18:00 and 24:00 UTC, and only pages that were not read on that day. Costs 1 upstream request per page, which is sent only if no other request waits and slots are left.',
  ),
  IDEMPOTENCY_KEEP_MS: integer(60_000, 7 * DAY_MS, DAY_MS).describe(
    'Time for which the outcome of a mutation with an idempotency key is kept. A retry within this time does not make the change again.',
  ),
  LOG_LEVEL: choice(['error', 'warn', 'info', 'debug', 'silent'], 'info').describe(
    'Log level: `warn` logs upstream failures and refusals, `info` also one line per operation, `debug` also each upstream request.',
  ),
  METRICS_PORT: integer(0, 65_535, null).describe(
    'Separate port for `/metrics`, the console and the probes, on the address of `HOST`, for all that reach it: limit them by a firewall. Then `PORT` serves the probes, but neither metrics nor console. Without it, `PORT` serves them to requests from this machine only. 0 selects a free port.',
  ),
  STALE_IF_ERROR_MS: integer(0, DAY_MS, DAY_MS).describe(
    'Time for which a stale entry is served if the API or the budget allows no newer one. It begins 15 minutes after the ttl of the entry.',
  ),
  TTLS: text('{}').describe(
    'How long responses count as fresh, in milliseconds by [resource](#cache-lifetimes), as JSON such as `{"channels": 10000, "plans": 3600000}`.',
  ),
};

/** Every variable that the gateway reads, in the order of the table. */
export const settings: readonly Setting[] = Object.entries(table).map(([name, entry]) => ({
  name,
  ...entry,
}));
