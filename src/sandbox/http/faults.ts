import type { LoggedRequest } from './log.ts';

/** An answer as a fault may rewrite it; a string body goes out as it is, anything else as JSON. */
interface FaultAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

interface FaultScope {
  /** HTTP method that it applies to; absent means every method. */
  method?: string;
  /** Exact path (`/api/qr`, without query and prefix) or a pattern; absent means every path. */
  path?: string | RegExp;
  /** How many requests it applies to; absent means until it is removed. */
  times?: number;
  /**
   * Whether the endpoint's effect happens in spite of the fault, for lost answers of writes.
   * Default false. For `slow` and `hold`: whether it happens before the wait or after it.
   * `truncated` and `answer` always run the endpoint, since they need its answer.
   */
  applied?: boolean;
}

/** One scripted misbehaviour of the API. At most one applies to a request: the first that matches. */
export type Fault = FaultScope &
  (
    | {
        /** A refusal by the rate limit, which counts nothing; with HTTP status 429 or 200. */
        kind: 'refuse-429' | 'refuse-200';
        /** Seconds in `Retry-After`, default 60; null sends no such header. */
        retryAfter?: number | null;
      }
    /** Failure form with HTTP status 500. */
    | { kind: 'error-500' }
    /** No answer, the socket stays open. */
    | { kind: 'hang' }
    /** Half of the body under the full content-length, then the socket is destroyed. */
    | { kind: 'truncated' }
    /** The socket is destroyed without an answer. */
    | { kind: 'drop' }
    /** The true answer, `delayMs` later by the sandbox's clock. */
    | { kind: 'slow'; delayMs: number }
    /** The true answer, once the promise is fulfilled. */
    | { kind: 'hold'; until: Promise<void> }
    /** A page instead of JSON; status default 200. */
    | { kind: 'html'; status?: number; html?: string }
    /** An empty body; status default 200. */
    | { kind: 'empty'; status?: number }
    /** The true answer, rewritten. */
    | { kind: 'answer'; rewrite: (answer: FaultAnswer, request: LoggedRequest) => FaultAnswer }
  );

/** The faults scripted for one API, in the order they were added. */
export class FaultList {
  #faults: { fault: Fault; left: number }[] = [];

  /** Adds a fault and returns its remover. */
  add(fault: Fault): () => void {
    const entry = { fault, left: fault.times ?? Number.POSITIVE_INFINITY };
    this.#faults.push(entry);
    return () => {
      this.#faults = this.#faults.filter((other) => other !== entry);
    };
  }

  /** Finds the fault that applies to this request and uses up one of its times. */
  take(method: string, path: string): Fault | undefined {
    const entry = this.#faults.find(({ fault, left }) => left > 0 && fits(fault, method, path));
    if (entry) entry.left -= 1;
    return entry?.fault;
  }

  /** Removes every fault. */
  clear(): void {
    this.#faults = [];
  }
}

function fits(fault: Fault, method: string, path: string): boolean {
  if (fault.method !== undefined && fault.method.toUpperCase() !== method) return false;
  if (fault.path === undefined) return true;
  // Unlike test(), search() ignores the `lastIndex` of a pattern with the g flag.
  return typeof fault.path === 'string' ? fault.path === path : path.search(fault.path) >= 0;
}
