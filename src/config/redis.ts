import type { EnvironmentReader } from './environment.ts';

/** The Redis that several processes share, so that they keep one budget and one cache. */
export interface RedisConfig {
  /** One server; with `sentinelName`, its Sentinels. Secrets: they may contain a password. */
  readonly urls: readonly string[];
  /** A secret that protects the names and contents of shared responses. */
  readonly secret: string;
  /** The prefix of all keys. */
  readonly prefix: string;
  /** The result of reads while Redis is unreachable: stale cached responses, or an error. */
  readonly outageReads: 'stale' | 'refuse';
  /** The name of the server at the Sentinels; `null` if the URL is the server's own. */
  readonly sentinelName: string | null;
}

/** As long as the keys that are made of it, if it is as random as they are. */
const MIN_SECRET_LENGTH = 32;

/** A script takes 4 us for each request in the window, while all others wait. */
const MAX_RATE_LIMIT = 500;

/** Settings without a default that require `REDIS_URL`. */
const companions = ['REDIS_SECRET', 'REDIS_SECRET_FILE', 'REDIS_SENTINEL_NAME'];

/** Reads which Redis is shared; `null` if there is none, or its settings are invalid. */
export function readRedis(
  reader: EnvironmentReader,
  sandbox: boolean,
  rateLimits: Readonly<Record<'LINKS_RATE_LIMIT' | 'MARKET_RATE_LIMIT', number>>,
): RedisConfig | null {
  const hasUrl = reader.has('REDIS_URL') || reader.has('REDIS_URL_FILE');
  const url = reader.secret('REDIS_URL');
  const secret = reader.secret('REDIS_SECRET');
  const sentinelName = reader.text('REDIS_SENTINEL_NAME');
  const prefix = reader.text('REDIS_PREFIX');
  const outageReads = reader.choice('REDIS_OUTAGE_READS', ['stale', 'refuse']);
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(prefix)) {
    reader.fault(
      `REDIS_PREFIX=${JSON.stringify(prefix)} is not a valid prefix. Use at most 64 letters, digits, dots, hyphens and underscores; the default is gateway.`,
    );
  }
  if (!hasUrl) {
    for (const name of companions.filter((each) => reader.has(each))) {
      reader.fault(`${name} requires REDIS_URL. Set REDIS_URL, or remove ${name}.`);
    }
    return null;
  }
  if (sandbox) {
    reader.fault(
      'REDIS_URL is set, but no API is configured, and sandboxes cannot be shared. Set LINKS_BASE_URL or MARKET_BASE_URL, or remove REDIS_URL.',
    );
  }
  checkSecret(reader, secret);
  for (const [name, limit] of Object.entries(rateLimits)) {
    if (limit > MAX_RATE_LIMIT) {
      reader.fault(
        `${name} is above ${MAX_RATE_LIMIT}, the maximum with Redis. Set it to ${MAX_RATE_LIMIT} or less, or remove REDIS_URL.`,
      );
    }
  }
  const urls = url === null ? [] : readUrls(reader, url);
  if (urls.length > 1 && sentinelName === '') {
    reader.fault(
      'REDIS_URL lists several Sentinels, but REDIS_SENTINEL_NAME is not set. Set it to the name of the master.',
    );
  }
  return Object.freeze({
    urls: Object.freeze(urls),
    secret: secret ?? '',
    prefix,
    outageReads,
    sentinelName: sentinelName === '' ? null : sentinelName,
  });
}

function checkSecret(reader: EnvironmentReader, secret: string | null): void {
  if (!reader.has('REDIS_SECRET') && !reader.has('REDIS_SECRET_FILE')) {
    reader.fault(
      'REDIS_URL requires REDIS_SECRET: without it, all programs with access to that Redis could read cached responses. Set at least 32 random characters, the same for all processes, such as the output of `openssl rand -base64 32`.',
    );
  } else if (secret !== null && secret.length < MIN_SECRET_LENGTH) {
    reader.fault(
      `REDIS_SECRET is shorter than ${MIN_SECRET_LENGTH} characters. Set a longer one, the same for all processes.`,
    );
  }
}

/** The URLs of the list. Errors contain none of them, because of their passwords. */
function readUrls(reader: EnvironmentReader, list: string): string[] {
  const urls = list.split(',').filter((url) => url !== '');
  const faults = new Set(urls.flatMap((url) => faultOf(url) ?? []));
  if (urls.length === 0) faults.add('is an empty list');
  for (const what of faults) {
    reader.fault(
      `REDIS_URL ${what}. Set it to one such as redis://:password@redis.example:6379, or rediss:// for TLS; several, separated by commas, are Sentinels.`,
    );
  }
  return urls;
}

function faultOf(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '') {
    return 'is not a redis or rediss URL';
  }
  if (!/^\/?\d{0,4}$/.test(url.pathname)) return 'has a path that is not a database number';
  if (/[?#]/.test(text))
    return 'contains a query or fragment, or a password with an unencoded ? or #';
  try {
    decodeURIComponent(url.username + url.password);
    return null;
  } catch {
    return 'has a password with a % that is not encoded as %25';
  }
}
