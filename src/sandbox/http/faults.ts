import type { SandboxClock } from '../clock.ts';
import type { LoggedRequest } from './log.ts';

/** A response that a fault can rewrite; a string body is sent unchanged, anything else as JSON. */
interface FaultAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

interface FaultScope {
  /** HTTP method that it applies to; absent means every method. */
  method?: string;
  /** Path without query and prefix (`/api/qr`), with `*` for any characters, or a pattern; absent means every path. */
  path?: string | RegExp;
  /** Text that the body contains, byte for byte; absent means every body. Bodies above 8 MB never match. */
  containing?: string;
  /** How many requests it applies to; absent means any number. */
  times?: number;
  /** How long it lasts by the sandbox's clock; absent means until it is removed. */
  forMs?: number;
  /**
   * Whether the endpoint's effect happens despite the fault, for lost responses of writes.
   * Default false. For `slow` and `hold`: whether it happens before the wait or after it.
   * `truncated` and `answer` always run the endpoint, because they need its response.
   */
  applied?: boolean;
}

/** A failure that the API simulates. At most one applies to a request: the first that matches. */
export type Fault = FaultScope &
  (
    | {
        /** A rate limit refusal, which does not count; with HTTP status 429 or 200. */
        kind: 'refuse-429' | 'refuse-200';
        /** Seconds in `Retry-After`, default 60; null sends no such header. */
        retryAfter?: number | null;
      }
    /** The response to an unknown key, with HTTP status 401. */
    | { kind: 'bad-key' }
    /** An error in the API's format with HTTP status 500. */
    | { kind: 'error-500' }
    /** No response; the socket stays open. */
    | { kind: 'hang' }
    /** Half of the body under the full content-length, then the socket is destroyed. */
    | { kind: 'truncated' }
    /** The socket is destroyed without a response. */
    | { kind: 'drop' }
    /** The normal response, `delayMs` later by the sandbox's clock. */
    | { kind: 'slow'; delayMs: number }
    /** The normal response, after the promise is fulfilled. */
    | { kind: 'hold'; until: Promise<void> }
    /** A page instead of JSON; status default 200. */
    | { kind: 'html'; status?: number; html?: string }
    /** An empty body; status default 200. */
    | { kind: 'empty'; status?: number }
    /** The normal response, rewritten. */
    | { kind: 'answer'; rewrite: (answer: FaultAnswer, request: LoggedRequest) => FaultAnswer }
  );

/** An active fault. */
export interface ActiveFault {
  readonly id: number;
  readonly fault: Fault;
  /** Remaining number of requests that it applies to; may be infinite. */
  readonly left: number;
  /** Wall time of its end in milliseconds; may be infinite. */
  readonly until: number;
}

/** The faults scripted for one API, in the order they were added. */
export class FaultList {
  readonly #clock: SandboxClock;
  #faults: { -readonly [Member in keyof ActiveFault]: ActiveFault[Member] }[] = [];
  #lastId = 0;

  constructor(clock: SandboxClock) {
    this.#clock = clock;
  }

  add(fault: Fault): ActiveFault {
    const { times: left = Number.POSITIVE_INFINITY, forMs = Number.POSITIVE_INFINITY } = fault;
    this.#lastId += 1;
    const added = { id: this.#lastId, fault, left, until: this.#clock.wall() + forMs };
    this.#faults.push(added);
    return added;
  }

  /** The faults that are neither used up nor expired. */
  active(): readonly ActiveFault[] {
    const now = this.#clock.wall();
    this.#faults = this.#faults.filter(({ left, until }) => left > 0 && until > now);
    return this.#faults;
  }

  /** Returns the fault that applies to this request, and counts the request. */
  take(method: string, path: string, body: Buffer): Fault | undefined {
    this.active();
    const found = this.#faults.find(({ fault }) => fits(fault, method, path, body));
    if (found) found.left -= 1;
    return found?.fault;
  }

  /** Removes one fault; false when there is none of this id. */
  remove(id: number): boolean {
    const before = this.active().length;
    this.#faults = this.#faults.filter((fault) => fault.id !== id);
    return this.#faults.length < before;
  }

  /** Removes every fault. */
  clear(): void {
    this.#faults = [];
  }
}

function fits(
  { method, path: pattern, containing }: Fault,
  asked: string,
  path: string,
  body: Buffer,
): boolean {
  if (method !== undefined && method.toUpperCase() !== asked) return false;
  if (containing !== undefined && !body.includes(containing)) return false;
  if (pattern === undefined) return true;
  // Unlike test(), search() ignores the `lastIndex` of a pattern with the g flag.
  if (typeof pattern !== 'string') return path.search(pattern) >= 0;
  return matches(pattern, path);
}

/** Takes time proportional to both lengths, unlike a regular expression with several `.*`. */
function matches(pattern: string, path: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return pattern === path;
  if (!path.startsWith(start)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return path.length - at >= end.length && path.endsWith(end);
}
