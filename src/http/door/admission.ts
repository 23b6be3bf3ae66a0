import type { IncomingMessage } from 'node:http';
import type { Authenticate } from '../../auth/authenticate.ts';
import type { Viewer } from '../../auth/viewer.ts';
import type { GatewayError } from '../../errors.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import { type HeaderReader, isForeignPage } from './foreign-page.ts';
import type { HostGuard, HostStanding } from './host-guard.ts';
import type { OriginRights, Origins } from './origins.ts';
import { namesSender, proveSender, senderOf } from './sender.ts';

/** The rules of the door, which are the same for every route. */
interface DoorRules {
  readonly origins: Origins;
  readonly authenticate: Authenticate;
  readonly hostGuard: HostGuard;
  /** By which other processes prove that they forward a request; absent where none does. */
  readonly ownerSecret?: string | undefined;
}

/** Decides about each request once, before all routes. */
export class Door {
  readonly #rules: DoorRules;
  /** Most requests in a row name the same host. */
  #lastHost: string | undefined;
  #lastStanding: HostStanding;

  constructor(rules: DoorRules) {
    this.#rules = rules;
    this.#lastStanding = rules.hostGuard(undefined);
  }

  /** Admits a request from a socket. `draining`: whether its connection is closed after its response. */
  admit(request: IncomingMessage, draining: boolean): Admission {
    // First: the target can name another host than the header does.
    // One that drains owns the store no longer: the request is sent again to the next owner.
    const fault = requestFaultOf(request, draining ? undefined : this.#rules.ownerSecret);
    const { address } = senderOf(request);
    const { host } = request.headers;
    if (host !== this.#lastHost) {
      this.#lastHost = host;
      this.#lastStanding = this.#rules.hostGuard(host);
    }
    const header: HeaderReader = (name) => request.headers[name]?.toString();
    const arrived = { address, draining, fault, host: this.#lastStanding };
    return new Admission(this.#rules, header, arrived);
  }

  /** Admits a request that came through `fetch`, which has no connection and names its host in its address only. */
  admitFetched({ headers, url }: Request): Admission {
    const header: HeaderReader = (name) =>
      headers.get(name) ?? (name === 'host' ? new URL(url).host : null);
    const host = this.#rules.hostGuard(undefined);
    return new Admission(this.#rules, header, { address: '', draining: false, fault: null, host });
  }
}

/** Why no route can serve a request. */
interface RequestFault {
  readonly status: 400 | 421;
  readonly sentence: string;
}

/** The properties of a request that depend on its transport. */
interface Arrived {
  /** From where it came; empty for one that came through `fetch`. */
  readonly address: string;
  readonly draining: boolean;
  /** The error of its target or its headers; `null` if there is none. */
  readonly fault: RequestFault | null;
  readonly host: HostStanding;
}

/** What the door has decided about one request. Every route reads it, and none decides any of it again. */
export class Admission implements Omit<Arrived, 'address'> {
  readonly draining: boolean;
  readonly fault: RequestFault | null;
  readonly host: HostStanding;
  /** The permissions of its `Origin`, with the CORS headers of the response. */
  readonly origin: OriginRights;
  readonly #rules: DoorRules;
  readonly #header: HeaderReader;
  readonly #address: string;
  /** Why it is refused as a GET; `undefined` until that is evaluated. */
  #getRefusal: GatewayError | null | undefined;
  /** The caller, or a function that throws why it is unknown; `undefined` until that is evaluated. */
  #identity: AtOnce<Viewer> | (() => never) | undefined;

  constructor(rules: DoorRules, header: HeaderReader, { address, draining, fault, host }: Arrived) {
    this.draining = draining;
    this.fault = fault;
    this.host = host;
    const origin = header('origin');
    this.origin = origin ? rules.origins.rightsOf(origin) : rules.origins.ofNone;
    this.#rules = rules;
    this.#header = header;
    this.#address = address;
  }

  /** Why it is refused as a GET, if it can be from a page of another origin; otherwise `null`. See `Origins`. */
  get getRefusal(): GatewayError | null {
    if (this.#getRefusal === undefined) {
      this.#getRefusal = this.#rules.origins.getRefusal(this.#header);
    }
    return this.#getRefusal;
  }

  /** Whether a page of the gateway's own host sent it, or no page at all. */
  get isOwn(): boolean {
    return !isForeignPage(this.#header, () => false);
  }

  /**
   * Refuses what a page of another origin sent.
   * @throws GatewayError `FORBIDDEN`.
   */
  refuseForeign(): void {
    const refusal = this.#rules.origins.foreignRefusal(this.#header);
    if (refusal) throw refusal;
  }

  /** Whether pages of any other origin are allowed. If not, preflights have no response of their own. */
  get allowsOthers(): boolean {
    return this.#rules.origins.allowsOthers;
  }

  /** The headers of the response to a preflight, in addition to the common ones: these methods, and any header. */
  preflightHeaders(methods: string): Readonly<Record<string, string>> {
    return this.#rules.origins.preflightHeaders(this.#header, methods);
  }

  /** The owner of its share of the event loop: its caller if that is known, otherwise its address. */
  get owner(): string {
    const sender = this.#identity;
    if (typeof sender === 'object' && 'name' in sender) return sender.name;
    return this.#address;
  }

  /**
   * The caller: authenticated once, however often this is called. See `Authenticate` for what it throws and costs.
   */
  identify(): AtOnce<Viewer> {
    this.#identity ??= this.#ask();
    return typeof this.#identity === 'function' ? this.#identity() : this.#identity;
  }

  /**
   * Repeats the authentication during a long response: a token can be revoked in the meantime. It throws and costs
   * the same, and keeps only the credential of the request.
   */
  identifyAgain(): () => AtOnce<Viewer> {
    const { authenticate } = this.#rules;
    const presented = {
      authorization: this.#header('authorization') ?? undefined,
      address: this.#address,
    };
    return () => authenticate(presented);
  }

  #ask(): AtOnce<Viewer> | (() => never) {
    try {
      const asked = this.identifyAgain()();
      if (asked instanceof Promise) return this.#wait(asked);
      return asked;
    } catch (error) {
      return () => {
        throw error;
      };
    }
  }

  /** Once it is known, nothing waits for it any more. */
  async #wait(asked: Promise<Viewer>): Promise<Viewer> {
    const viewer = await asked;
    this.#identity = viewer;
    return viewer;
  }
}

/**
 * Reads the target of a request and who sent it, and finds the reason why no route can serve it. Status 421 says that it
 * was not forwarded to the process that owns the store: nothing was executed.
 */
export function requestFaultOf(
  request: IncomingMessage,
  ownerSecret?: string,
): RequestFault | null {
  const invalid = (sentence: string) => ({ status: 400, sentence }) as const;
  if (!readTarget(request)) return invalid('The request target is not valid.');
  const repeated = repeatedHeader(request);
  if (repeated !== null) return invalid(`The header ${repeated} must not be repeated.`);
  if (!namesSender(request) || proveSender(request, ownerSecret ?? null)) return null;
  return { status: 421, sentence: 'The sender of this request is not valid.' };
}

/** What clients of a proxy send, and what every server must take: the whole address. */
const ABSOLUTE = /^https?:\/\/([^/?#@]+)((?:[/?][^#]*)?)$/i;

/**
 * Normalizes a request target into a path with its query. If the target contains the whole URL, its host replaces
 * the `Host` header in all decisions. Returns false for an invalid target, and leaves it unchanged.
 * Implements: RFC 9112 sections 3.2.1 to 3.2.4.
 */
function readTarget(request: IncomingMessage): boolean {
  const { method, url = '' } = request;
  if (url.startsWith('/')) return true;
  if (url === '*') return method === 'OPTIONS';
  const [, host, rest] = ABSOLUTE.exec(url) ?? [];
  if (host === undefined || rest === undefined || !URL.canParse(`http://${host}`)) return false;
  request.headers.host = host;
  if (rest === '' && method === 'OPTIONS') request.url = '*';
  else request.url = rest.startsWith('/') ? rest : `/${rest}`;
  return true;
}

/** Headers that must not be repeated: a proxy may have used another value than Node does. */
const ONCE = ['host', 'authorization'] as const;

/** The header of a request that is repeated although it must not be; `null` if there is none. */
function repeatedHeader({ rawHeaders }: IncomingMessage): string | null {
  for (const name of ONCE) {
    if (isRepeated(rawHeaders, name)) return name;
  }
  return null;
}

/** `headers`: names and values by turns. */
function isRepeated(headers: readonly string[], name: string): boolean {
  let seen = false;
  for (let at = 0; at < headers.length; at += 2) {
    if (!isNamed(headers[at] ?? '', name)) continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}

/** Compares the lengths first: nearly all headers differ there. */
function isNamed(header: string, name: string): boolean {
  return header.length === name.length && (header === name || header.toLowerCase() === name);
}
