import type { AuthConfig } from '../auth/authenticate.ts';
import { type CallerClasses, parseCallerClasses, withAgents } from '../auth/caller-class.ts';
import { reasonOf } from '../errors.ts';
import type { Resource } from '../resources.ts';
import { readTextFile } from '../storage/text-file.ts';
import { type Endpoint, readEndpoint, readKeyless, readSandbox, readTtls } from './apis.ts';
import { readAuth } from './auth.ts';
import { EnvironmentReader, type ReadFile } from './environment.ts';
import { readHistoryWatch } from './history-watch.ts';
import { type Limits, usualLimits } from './limits.ts';
import { MAX_OPERATIONS_FILE_BYTES, parseOperationsFile } from './operations-file.ts';

/** What both upstream APIs have in common. `endpoint` is null when the API is not configured. */
export interface UpstreamConfig {
  readonly endpoint: Endpoint | null;
  /** Requests per `rateWindowMs` and API key. */
  readonly rateLimit: number;
  readonly rateWindowMs: number;
  /** Shares of `rateLimit` that are reserved, from 0 to 1: for writes, and for callers without a request in the window. */
  readonly reserves: { readonly writes: number; readonly newcomers: number };
  /** The classes of callers, with the one for agents. */
  readonly classes: CallerClasses;
  /** See `Limits`. */
  readonly jobsMinPerMinute: number;
  readonly timeoutMs: number;
}

/** The link-management API's settings; they hold for its sandbox too. */
interface LinksConfig extends UpstreamConfig {
  readonly pageSize: number;
  /** IANA name of the zone of timestamps that carry none. */
  readonly timeZone: string;
}

/** The marketplace API's settings; they hold for its sandbox too. */
interface MarketConfig extends UpstreamConfig {
  readonly postEncoding: 'json' | 'form' | 'query';
}

/** The endpoint for AI agents. */
interface McpConfig {
  readonly on: boolean;
  /** Whether agents may change something. */
  readonly mayChange: boolean;
}

/** The maximum size of an operation: its text, including each use of a fragment, and its response. */
export interface OperationLimits
  extends Pick<Limits, 'maxAliases' | 'maxDepth' | 'maxDirectives' | 'maxFields' | 'maxTokens'> {
  /** Rows requested, multiplied down the selection. */
  readonly maxNodes: number;
}

/** Everything an operator can decide, checked and frozen. */
export interface Config extends Limits {
  readonly port: number;
  readonly host: string;
  /** True when neither upstream is configured: both then come from the embedded sandbox. */
  readonly sandbox: boolean;
  readonly links: LinksConfig;
  readonly market: MarketConfig;
  readonly maxWaitMs: number;
  readonly auth: AuthConfig;
  /** Empty: no page of another origin is allowed. */
  readonly corsOrigins: readonly string[];
  /** Host names, besides `localhost`, that are allowed; empty for those implied by `HOST`. */
  readonly allowedHosts: readonly string[];
  /** The only allowed operations, by id; `null` if all are. */
  readonly persistedOperations: ReadonlyMap<string, string> | null;
  readonly operationLimits: OperationLimits;
  /** Requests that an operation may make to each upstream; `null` for as many as its limit allows. */
  readonly operationMaxCalls: number | null;
  readonly mcp: McpConfig;
  /** Who may read the schema, and gets suggestions for misspelled names: those who authenticate, all, or none. */
  readonly introspection: 'callers' | 'on' | 'off';
  readonly exposeUserApiKeys: boolean;
  readonly cacheMaxBytes: number;
  /** The lists that are read once a day for it. */
  readonly historyWatch: readonly string[];
  /** The classes of callers that the operator has configured; empty if there are none. */
  readonly callerClasses: CallerClasses;
  /** Maximum size of the output of all jobs. */
  readonly jobsMaxBytes: number;
  /** How long idempotency keys are kept. */
  readonly idempotencyKeepMs: number;
  /** Folder for data that must survive a restart; `null` if none is saved. */
  readonly stateDir: string | null;
  /** The database for it instead; `null` if it is in the folder. */
  readonly databaseUrl: string | null;
  /** The address at which other processes reach this one; `null` for that on which it listens. */
  readonly advertiseUrl: string | null;
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug' | 'silent';
  /** Whether all callers can read metrics and console, or only those on this machine. */
  readonly metrics: 'local' | 'open';
  /** Where metrics and console are answered; `null` where they are on `port`. */
  readonly metricsPort: number | null;
  readonly staleIfErrorMs: number;
  readonly ttlMs: Readonly<Record<Resource, number>>;
}

/** The environment is invalid. The message lists every error, each with the correction. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One or two sentences each, without secrets. */
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    const title = faults.length === 1 ? 'an error' : `${faults.length} errors`;
    super(`The configuration has ${title}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

/**
 * Reads the whole configuration. An empty variable counts as not set. `readFile` is used for `*_FILE` secrets and
 * for the files in settings. `limits`: for tests.
 * @throws ConfigError with all errors at once.
 */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  readFile: ReadFile = readTextFile,
  limits: Limits = usualLimits,
): Config {
  const reader = new EnvironmentReader(env, readFile);
  reader.refuseUnknown([
    'LINKS_',
    'MARKET_',
    'TTL',
    'AUTH',
    'CORS',
    'HISTORY_',
    'IDEMPOTENCY_',
    'WRITE_',
    'CALLER_',
    'JOBS_',
    'MCP_',
  ]);
  const sandbox = readSandbox(reader, env['NODE_ENV'] === 'production');
  const readableClasses = readClasses(reader);
  const callerClasses: CallerClasses = readableClasses ?? new Map();
  const rateLimits = {
    LINKS_RATE_LIMIT: reader.integer('LINKS_RATE_LIMIT'),
    MARKET_RATE_LIMIT: reader.integer('MARKET_RATE_LIMIT'),
  };
  const rateWindowsMs = {
    links: reader.integer('LINKS_RATE_WINDOW_MS'),
    market: reader.integer('MARKET_RATE_WINDOW_MS'),
  };
  const classes = withAgents(
    callerClasses,
    Math.min(
      (rateLimits.LINKS_RATE_LIMIT * 60_000) / rateWindowsMs.links,
      (rateLimits.MARKET_RATE_LIMIT * 60_000) / rateWindowsMs.market,
    ),
  );
  const auth = readAuth(reader, sandbox, readFile, readableClasses && classes);
  const links =
    auth.mode === 'passthrough' ? readKeyless(reader, sandbox) : readEndpoint(reader, 'LINKS');
  const market = readEndpoint(reader, 'MARKET');
  const { jobsMinPerMinute } = limits;
  const reserves = Object.freeze({
    writes: limits.writeReserve,
    // Without authentication a caller is an address: one program has several, and a proxy has one for all of them.
    newcomers: auth.mode === 'none' ? 0 : limits.newcomerReserve,
  });
  const port = reader.integer('PORT');
  const metricsPort = readMetricsPort(reader, port);
  const config: Config = {
    ...limits,
    port,
    host: reader.text('HOST'),
    sandbox,
    links: Object.freeze({
      endpoint: links,
      rateLimit: rateLimits.LINKS_RATE_LIMIT,
      rateWindowMs: rateWindowsMs.links,
      // Each caller has its own key and budget, so no other caller can be the first in a window.
      reserves: auth.mode === 'passthrough' ? { ...reserves, newcomers: 0 } : reserves,
      jobsMinPerMinute,
      classes,
      pageSize: reader.integer('LINKS_PAGE_SIZE'),
      timeZone: reader.timeZone('LINKS_TIMEZONE'),
      timeoutMs: reader.integer('LINKS_TIMEOUT_MS'),
    }),
    market: Object.freeze({
      endpoint: market,
      rateLimit: rateLimits.MARKET_RATE_LIMIT,
      rateWindowMs: rateWindowsMs.market,
      reserves,
      jobsMinPerMinute,
      classes,
      postEncoding: reader.choice('MARKET_POST_ENCODING', ['json', 'form', 'query']),
      timeoutMs: reader.integer('MARKET_TIMEOUT_MS'),
    }),
    maxWaitMs: reader.integer('MAX_WAIT_MS'),
    auth: Object.freeze(auth),
    callerClasses,
    jobsMaxBytes: reader.integer('JOBS_MAX_BYTES'),
    corsOrigins: Object.freeze(reader.origins('CORS_ORIGINS')),
    allowedHosts: Object.freeze(reader.hosts('ALLOWED_HOSTS')),
    persistedOperations: readOperations(reader, readFile),
    operationLimits: Object.freeze({
      maxTokens: limits.maxTokens,
      maxDepth: limits.maxDepth,
      maxAliases: limits.maxAliases,
      maxDirectives: limits.maxDirectives,
      maxFields: limits.maxFields,
      maxNodes: reader.integer('OPERATION_MAX_NODES'),
    }),
    operationMaxCalls: reader.has('OPERATION_MAX_CALLS')
      ? reader.integer('OPERATION_MAX_CALLS')
      : null,
    mcp: Object.freeze({
      // With passthrough, the credential of an agent would be an API key.
      on: reader.has('MCP') ? reader.flag('MCP') : auth.mode !== 'passthrough',
      mayChange: reader.choice('MCP_CHANGES', ['off', 'on']) === 'on',
    }),
    introspection: readIntrospection(reader, sandbox && auth.mode === 'none'),
    exposeUserApiKeys: reader.flag('EXPOSE_USER_API_KEYS'),
    cacheMaxBytes: reader.integer('CACHE_MAX_BYTES'),
    historyWatch: Object.freeze(readHistoryWatch(reader, auth.mode)),
    idempotencyKeepMs: reader.integer('IDEMPOTENCY_KEEP_MS'),
    stateDir: reader.text('STATE_DIR') === 'off' ? null : reader.text('STATE_DIR'),
    databaseUrl: reader.databaseUrl('DATABASE_URL'),
    advertiseUrl: reader.baseUrl('ADVERTISE_URL'),
    logLevel: reader.choice('LOG_LEVEL', ['info', 'error', 'warn', 'debug', 'silent']),
    metrics: metricsPort === null ? 'local' : 'open',
    metricsPort,
    staleIfErrorMs: reader.integer('STALE_IF_ERROR_MS'),
    ttlMs: readTtls(reader),
  };
  if (reader.faults.length > 0) {
    throw new ConfigError(reader.faults);
  }
  return Object.freeze(config);
}

function readMetricsPort(reader: EnvironmentReader, port: number): number | null {
  if (!reader.has('METRICS_PORT')) return null;
  const metricsPort = reader.integer('METRICS_PORT');
  if (metricsPort === port && port !== 0) {
    reader.fault(
      'METRICS_PORT is equal to PORT. Set another port, or remove METRICS_PORT to serve the metrics on PORT.',
    );
  }
  return metricsPort;
}

/** `isOpen`: the gateway has only sample data, which all callers get. */
function readIntrospection(reader: EnvironmentReader, isOpen: boolean): Config['introspection'] {
  if (reader.has('INTROSPECTION')) return reader.choice('INTROSPECTION', ['callers', 'on', 'off']);
  return isOpen ? 'on' : 'callers';
}

function readOperations(
  reader: EnvironmentReader,
  readFile: ReadFile,
): ReadonlyMap<string, string> | null {
  const file = reader.text('PERSISTED_OPERATIONS_FILE');
  if (file === '') return null;
  try {
    return parseOperationsFile(readFile(file, MAX_OPERATIONS_FILE_BYTES));
  } catch (error) {
    reader.fault(
      `PERSISTED_OPERATIONS_FILE cannot be used (${reasonOf(error)}). Set it to a JSON file with operations by id.`,
    );
    return null;
  }
}

/** Undefined after a fault. */
function readClasses(reader: EnvironmentReader): CallerClasses | undefined {
  try {
    return parseCallerClasses(reader.text('CALLER_CLASSES'));
  } catch (error) {
    reader.fault(
      `CALLER_CLASSES ${reasonOf(error)}. Set it to JSON such as {"agent": {"weight": 1, "maxCallsPerMinute": 8}}.`,
    );
    return undefined;
  }
}
