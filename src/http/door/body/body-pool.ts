import { GraphQLError } from 'graphql';
import { GatewayError } from '../../../errors.ts';
import { SharedPool } from '../../../scheduling/shared-pool.ts';

/** A body up to this size is always accepted: usual operations do not wait for large ones. */
export const MIN_COUNTED_BYTES = 16 * 1024;
/** Maximum total size of the larger bodies of all current requests, in bytes. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Retry delay: the remaining time of current requests is unknown. */
const RETRY_AFTER_SECONDS = 1;

/**
 * Bounds the memory of all large request bodies: half of it for one caller, and always less than would leave
 * nothing for the next one.
 */
export class BodyPool {
  readonly #pool: SharedPool;

  constructor(maxBytes = MAX_BYTES) {
    this.#pool = new SharedPool(maxBytes, maxBytes / 2 + 1);
  }

  /**
   * Reserves bytes for a body that is about to be read. Call the returned function with the bytes still in use
   * whenever they decrease, and finally with 0.
   * @throws GraphQLError `BUDGET_EXHAUSTED` with status 503 if there is no room.
   */
  take(caller: string, bytes: number): (stillHeld: number) => void {
    const pool = this.#pool;
    let held = counted(bytes);
    if (held > 0 && !pool.mayTake(caller, held)) throw tooMuch();
    pool.add(caller, held);
    return (stillHeld) => {
      const rest = Math.min(held, counted(stillHeld));
      pool.add(caller, rest - held);
      held = rest;
    };
  }
}

/** What of a body's bytes counts. */
function counted(bytes: number): number {
  return bytes > MIN_COUNTED_BYTES ? bytes : 0;
}

function tooMuch(): GraphQLError {
  const originalError = new GatewayError(
    'BUDGET_EXHAUSTED',
    'The gateway’s memory for request bodies is full. Retry later, or send a smaller request.',
    { details: { reason: 'memory', retryAfterMs: RETRY_AFTER_SECONDS * 1000 } },
  );
  // The body may still arrive, so the connection cannot be used again.
  const headers = { 'retry-after': String(RETRY_AFTER_SECONDS), connection: 'close' };
  return new GraphQLError(originalError.message, {
    originalError,
    extensions: { http: { status: 503, headers } },
  });
}
