import { GraphQLError } from 'graphql';
import { GatewayError } from '../../errors.ts';

/** A body that is no larger is always taken: nobody's usual operations wait for what others send. */
const SMALL_BYTES = 16 * 1024;
/** Bytes that the larger bodies of all requests under way may have together. */
const MAX_BYTES = 128 * 1024 * 1024;
/** When to try again: nobody knows how long the requests under way will take. */
const RETRY_AFTER_SECONDS = 1;

/**
 * Bounds what the large bodies of all requests under way take in memory, whoever sends them, and to half of that
 * for one caller, so that none can shut out the others.
 */
export class BodyPool {
  readonly #maxBytes: number;
  readonly #ofCallers = new Map<string, number>();
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Reserves bytes for a body that is about to be read. Call what this returns with the bytes that are still held
   * whenever that becomes less, and in the end with 0.
   * @throws GraphQLError `BUDGET_EXHAUSTED` with status 503 when there is no room.
   */
  take(caller: string, bytes: number): (stillHeld: number) => void {
    let held = counted(bytes);
    const ofCaller = (this.#ofCallers.get(caller) ?? 0) + held;
    const isFull = this.#bytes + held > this.#maxBytes || ofCaller > this.#maxBytes / 2;
    if (held > 0 && isFull) throw tooMuch();
    this.#add(caller, held);
    return (stillHeld) => {
      const rest = Math.min(held, counted(stillHeld));
      this.#add(caller, rest - held);
      held = rest;
    };
  }

  #add(caller: string, bytes: number): void {
    this.#bytes += bytes;
    const ofCaller = (this.#ofCallers.get(caller) ?? 0) + bytes;
    if (ofCaller > 0) this.#ofCallers.set(caller, ofCaller);
    else this.#ofCallers.delete(caller);
  }
}

/** What of a body's bytes counts. */
function counted(bytes: number): number {
  return bytes > SMALL_BYTES ? bytes : 0;
}

function tooMuch(): GraphQLError {
  const originalError = new GatewayError(
    'BUDGET_EXHAUSTED',
    'As much is being sent as the gateway holds at a time. Try again soon, or send less at once.',
    { details: { retryAfterMs: RETRY_AFTER_SECONDS * 1000 } },
  );
  // The body may still arrive, so the connection cannot be used again.
  const headers = { 'retry-after': String(RETRY_AFTER_SECONDS), connection: 'close' };
  return new GraphQLError(originalError.message, {
    originalError,
    extensions: { http: { status: 503, headers } },
  });
}
