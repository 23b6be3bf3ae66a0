import { reasonOf } from '../errors.ts';
import { nearest, removedSettings } from './removed-settings.ts';
import { isSendable, MAX_SECRET_BYTES, UNSENDABLE, withoutNewline } from './secret-text.ts';
import { type Setting, settings } from './settings.ts';

/** Reads a whole file named by a setting, if it is no larger. */
export type ReadFile = (path: string, maxBytes: number) => string;

const byName: ReadonlyMap<string, Setting> = new Map(
  settings.map((setting) => [setting.name, setting]),
);

/**
 * Variables that Kubernetes, not the operator, sets for a service called `links` or `market`, and those of other
 * programs.
 */
const notOurs =
  /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$|^AUTH(0|OR)/;

/** What other programs have too, with names of their own: only similar names are ours. */
const common = /(BASE_URL|API_KEY)(_FILE)?$/;
const MOST_EDITS = 2;

/** Whether an address is only reachable from this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127\.[\d.]+|::1)$/i.test(host);
}

/**
 * Reads settings by their entry in the table and collects errors in `faults`. After an error it returns some
 * harmless value, so that the remaining settings are checked too.
 */
export class EnvironmentReader {
  readonly faults: string[] = [];
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #readFile: ReadFile;

  constructor(env: Readonly<Record<string, string | undefined>>, readFile: ReadFile) {
    this.#env = env;
    this.#readFile = readFile;
  }

  /** Records an error that is not about a single value. */
  fault(sentence: string): void {
    this.faults.push(sentence);
  }

  /** Whether the variable is set to something; an empty one is not. */
  has(name: string): boolean {
    return (this.#env[name] ?? '').trim() !== '';
  }

  text(name: string): string {
    return this.#value(name) ?? '';
  }

  integer(name: string): number {
    const { kind } = setting(name);
    const value = this.#value(name) ?? '';
    if (kind.type !== 'integer') {
      throw new TypeError(`${name} is no integer setting`);
    }
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= kind.min && number <= kind.max)) {
      this.#refuse(
        name,
        Number.isNaN(number) ? 'is not an integer' : 'is outside the allowed range',
        `an integer from ${kind.min} to ${kind.max}`,
      );
      return kind.min;
    }
    return number;
  }

  flag(name: string): boolean {
    const value = this.#value(name)?.toLowerCase();
    if (value !== 'true' && value !== 'false') {
      this.#refuse(name, 'is neither true nor false', 'true or false');
    }
    return value === 'true';
  }

  choice<T extends string>(name: string, choices: readonly [T, ...T[]]): T {
    const value = this.optionalChoice(name);
    return choices.find((choice) => choice === value) ?? choices[0];
  }

  /** Null if the variable is not set and has no default, or is not one of its choices. */
  optionalChoice(name: string): string | null {
    const { kind } = setting(name);
    const given = this.#value(name);
    if (kind.type !== 'choice') {
      throw new TypeError(`${name} is no choice`);
    }
    const value = given === null ? null : (kind.synonyms?.[given.toLowerCase()] ?? given);
    if (value !== null && !kind.choices.includes(value)) {
      this.#refuse(name, 'is not an allowed value', `one of ${kind.choices.join(', ')}`);
      return null;
    }
    return value;
  }

  timeZone(name: string): string {
    const value = this.text(name);
    // A shortcut for the default: loading the calendars takes a while.
    if (value === 'UTC') return value;
    try {
      new Intl.DateTimeFormat('en', { timeZone: value }).format();
      return value;
    } catch {
      this.#refuse(name, 'is not a time zone', 'an IANA name such as Europe/Berlin');
      return 'UTC';
    }
  }

  /** Without trailing slashes; null when not set, or faulty. All paths of both APIs begin with `/api`. */
  baseUrl(name: string): string | null {
    const value = this.#value(name);
    if (value === null) {
      return null;
    }
    // The error does not contain the value: URLs may contain credentials.
    const url = URL.canParse(value) ? new URL(value) : null;
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      this.fault(
        `${name} is not an http or https URL. Set it to a URL such as https://example.com.`,
      );
      return null;
    }
    if (url.username !== '' || url.password !== '') {
      this.fault(`${name} contains credentials. Remove them; the API key has its own setting.`);
      return null;
    }
    if (/[?#]/.test(value)) {
      this.fault(`${name} contains a query or a fragment. Set only scheme, host and path.`);
      return null;
    }
    const base = (url.origin + url.pathname).replace(/\/+$/, '');
    if (!/\/api$/i.test(base)) return base;
    const right = base.replace(/\/+api$/i, '');
    this.fault(`${name} ends in /api, which the gateway appends to the URL. Set it to ${right}.`);
    return null;
  }

  /**
   * A URL whose content is trusted, so it must use https unless it is on this machine; null if not set, or
   * invalid.
   */
  url(name: string): string | null {
    const value = this.#value(name);
    if (value === null) return null;
    const url = URL.canParse(value) ? new URL(value) : null;
    const local = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url?.hostname ?? '');
    if (url?.protocol === 'https:' || (local && url?.protocol === 'http:')) return url.href;
    this.fault(
      `${name} is not an https URL. Set it to a URL such as https://login.example.com/keys.`,
    );
    return null;
  }

  /** The URL of a PostgreSQL database, as a secret; null if not set, or invalid. */
  databaseUrl(name: string): string | null {
    const value = this.secret(name);
    if (value === null || /^postgres(?:ql)?:\/\/[^/]+\/./.test(value)) return value;
    this.fault(
      `${name} is not the URL of a database. Set it to a URL such as postgres://user:password@host/database.`,
    );
    return null;
  }

  /** A list of host names, without ports. */
  hosts(name: string): string[] {
    const listed = (this.#value(name) ?? '').split(',').map((host) => host.trim());
    const hosts = listed.filter((host) => host !== '');
    for (const host of hosts) {
      if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(host)) {
        this.fault(
          `${name}: ${JSON.stringify(host)} is not a host name. Set names without scheme and port, such as api.example.com.`,
        );
      }
    }
    return hosts;
  }

  origins(name: string): string[] {
    const listed = (this.#value(name) ?? '').split(',').map((origin) => origin.trim());
    const origins = listed.filter((origin) => origin !== '');
    for (const origin of origins) {
      // `*` and `null` are rejected on purpose: they would allow every page on the web. A browser never sends a
      // `*` within a name.
      if (
        !/^https?:[^*]+$/.test(origin) ||
        !URL.canParse(origin) ||
        new URL(origin).origin !== origin
      ) {
        this.fault(
          `${name}: ${JSON.stringify(origin)} is not an origin. Set scheme, host and port only, such as https://app.example.com.`,
        );
      }
    }
    return origins;
  }

  /** The file that a secret comes from; `undefined` where it is in the environment. */
  fileOf(name: string): string | undefined {
    const file = `${name}_FILE`;
    return this.has(file) ? this.#env[file] : undefined;
  }

  /** From the variable or from the file that `<name>_FILE` names, without its trailing newline. */
  secret(name: string): string | null {
    const file = `${name}_FILE`;
    if (this.has(name) && this.has(file)) {
      this.fault(`${name} and ${file} are both set. Set only one of them.`);
      return null;
    }
    if (!this.has(file)) {
      return this.#sendable(name, this.#value(name));
    }
    let content: string;
    try {
      content = withoutNewline(this.#readFile(this.#env[file] ?? '', MAX_SECRET_BYTES));
    } catch (error) {
      this.fault(
        `${file} cannot be read (${reasonOf(error)}). Set it to a file that this process may read.`,
      );
      return null;
    }
    if (content.trim() === '') {
      this.fault(`${file} is an empty file. Write the secret into it.`);
      return null;
    }
    return this.#sendable(file, content);
  }

  #sendable(name: string, value: string | null): string | null {
    if (value !== null && !isSendable(value)) {
      this.fault(`${name} contains ${UNSENDABLE}. Check it.`);
      return null;
    }
    return value;
  }

  /** A misspelled name would otherwise silently leave a default in force. */
  refuseUnknown(prefixes: readonly string[]): void {
    const known = settings.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : name));
    for (const name of Object.keys(this.#env).sort()) {
      if (known.includes(name) || !this.has(name)) continue;
      if (Object.hasOwn(removedSettings, name)) {
        this.fault(`${name} is no longer a setting. ${removedSettings[name]}`);
        continue;
      }
      if (notOurs.test(name)) continue;
      const meant = nearest(name.replace('MARKETPLACE', 'MARKET'), known);
      const isOurs =
        prefixes.some((prefix) => name.startsWith(prefix)) ||
        (common.test(name) && meant.edits <= MOST_EDITS);
      if (isOurs) this.fault(`${name} is not a setting. Did you mean ${meant.candidate}?`);
    }
  }

  #value(name: string): string | null {
    return this.has(name) ? (this.#env[name] ?? '').trim() : setting(name).default;
  }

  #refuse(name: string, what: string, wanted: string): void {
    const fallback = setting(name).default;
    this.fault(
      `${name}=${JSON.stringify(this.#env[name] ?? '')} ${what}. Set it to ${wanted}${fallback === null ? '' : `; the default is ${fallback}`}.`,
    );
  }
}

function setting(name: string): Setting {
  const found = byName.get(name);
  if (!found) {
    throw new TypeError(`${name} is missing in the table of settings`);
  }
  return found;
}
