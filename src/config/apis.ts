import { perResource, type Resource, resourceNames, resources } from '../resources.ts';
import { isObject, jsonIn } from '../storage/json.ts';
import { type EnvironmentReader, isLoopback } from './environment.ts';

/** The base URL of an upstream API, and its key. */
export interface Endpoint {
  /** Without a trailing slash; may carry a path prefix, so join by concatenation. */
  readonly baseUrl: string;
  /** A secret: never logged, never shown. */
  readonly apiKey: string;
  /** The file that it was read from, which may bring another one later. */
  readonly keyFile?: string | undefined;
}

/** Whether neither API is configured. Then a misspelled name must not open sample data to a network. */
export function readSandbox(reader: EnvironmentReader, isProduction: boolean): boolean {
  const wanted = reader.optionalChoice('SANDBOX');
  const real = ['LINKS_BASE_URL', 'MARKET_BASE_URL'].find((name) => reader.has(name));
  if (real !== undefined) {
    if (wanted === 'on') reader.fault(`SANDBOX=on and ${real} are both set. Remove one of them.`);
    return false;
  }
  const isPrivate = !isProduction && isLoopback(reader.text('HOST'));
  if (wanted === 'off' || (wanted === null && !isPrivate)) {
    reader.fault(
      'No upstream API is configured. Set LINKS_BASE_URL or MARKET_BASE_URL, or set SANDBOX=on to serve sample data to all clients that reach this port.',
    );
  }
  return true;
}

/** An API with the key of the gateway; null if it is not configured, or after a fault. */
export function readEndpoint(
  reader: EnvironmentReader,
  prefix: 'LINKS' | 'MARKET',
): Endpoint | null {
  const baseUrl = reader.baseUrl(`${prefix}_BASE_URL`);
  const apiKey = reader.secret(`${prefix}_API_KEY`);
  const hasUrl = reader.has(`${prefix}_BASE_URL`);
  const hasKey = reader.has(`${prefix}_API_KEY`) || reader.has(`${prefix}_API_KEY_FILE`);
  if (hasUrl && !hasKey) {
    reader.fault(
      `${prefix}_BASE_URL requires ${prefix}_API_KEY. Set ${prefix}_API_KEY or ${prefix}_API_KEY_FILE.`,
    );
  }
  if (hasKey && !hasUrl) {
    reader.fault(
      `${prefix}_API_KEY requires ${prefix}_BASE_URL. Set ${prefix}_BASE_URL, or remove the key to use the sandbox.`,
    );
  }
  if (baseUrl === null || apiKey === null) return null;
  return Object.freeze({ baseUrl, apiKey, keyFile: reader.fileOf(`${prefix}_API_KEY`) });
}

/** The link-management API if every caller brings a key: rejects a configured one. */
export function readKeyless(reader: EnvironmentReader, sandbox: boolean): Endpoint | null {
  const baseUrl = reader.baseUrl('LINKS_BASE_URL');
  if (reader.has('LINKS_API_KEY') || reader.has('LINKS_API_KEY_FILE')) {
    reader.fault(
      'LINKS_API_KEY is set, but with AUTH_MODE=passthrough all callers send their own keys. Remove it, or set another AUTH_MODE.',
    );
  }
  if (!sandbox && !reader.has('LINKS_BASE_URL')) {
    reader.fault(
      'AUTH_MODE=passthrough requires LINKS_BASE_URL: callers are identified by their keys of that API. Set LINKS_BASE_URL, or another AUTH_MODE.',
    );
  }
  return baseUrl === null ? null : Object.freeze({ baseUrl, apiKey: '' });
}

const MOST_MS = 86_400_000;

/** How long the responses of each resource count as fresh, in milliseconds, from the setting `TTLS`. */
export function readTtls(reader: EnvironmentReader): Readonly<Record<Resource, number>> {
  const text = reader.text('TTLS');
  const parsed = jsonIn(text);
  const given = isObject(parsed) ? parsed : {};
  if (given !== parsed) {
    reader.fault('TTLS is not a JSON object. Set it to one such as {"channels": 10000}.');
  }
  for (const [name, ms] of Object.entries(given)) {
    if (!(resourceNames as readonly string[]).includes(name)) {
      reader.fault(
        `TTLS names ${JSON.stringify(name.slice(0, 40))}, which is not a resource. Use ${resourceNames.join(', ')}.`,
      );
    } else if (!Number.isInteger(ms) || !(Number(ms) >= 0 && Number(ms) <= MOST_MS)) {
      reader.fault(`TTLS has a value of ${name} that is not an integer from 0 to ${MOST_MS}.`);
    }
  }
  return Object.freeze(
    perResource((resource) => Number(given[resource] ?? resources[resource].ttlMs)),
  );
}
