import { GatewayError } from '../errors.ts';
import { SharedPool } from '../scheduling/shared-pool.ts';

/** The limits of the resources of live queries. */
export interface RoomLimits {
  readonly maxStreams: number;
  readonly maxStreamsPerCaller: number;
  /** Maximum memory of all results, in bytes. */
  readonly maxBytes: number;
}

/** Maximum number of watched cache entries: each write checks them. */
const MOST_WATCHED = 5000;
/**
 * Maximum number of them per caller. If little of it is left, the caller can start no further query, which would end as
 * soon as its size is known.
 */
const MOST_WATCHED_BY_ONE = 500;
const BEGINS_BELOW = 425;
/** The share of all bytes that a query counts until its first result. */
const RESERVED = 1 / 1024;
/** Delay after which a rejected caller may retry, in milliseconds. */
export const RETRY_MS = 15_000;

/**
 * The resources of live queries: streams, bytes and watched cache entries. The share of each caller depends on the free
 * amount. A query counts for one of its callers, so an additional viewer costs its caller only a stream.
 */
export class LiveRoom {
  readonly #streams: SharedPool;
  readonly #bytes: SharedPool;
  readonly #reservedBytes: number;
  readonly #watched = new SharedPool(MOST_WATCHED, MOST_WATCHED_BY_ONE, BEGINS_BELOW);

  constructor({ maxBytes, maxStreams, maxStreamsPerCaller }: RoomLimits) {
    this.#streams = new SharedPool(maxStreams, maxStreamsPerCaller);
    this.#bytes = new SharedPool(maxBytes);
    this.#reservedBytes = Math.ceil(maxBytes * RESERVED);
  }

  /** Estimated memory of all queries, in bytes. */
  get bytes(): number {
    return this.#bytes.held;
  }

  /**
   * Whether a caller may open a stream.
   * @throws GatewayError `TOO_MANY_STREAMS` with `retryAfterMs`.
   */
  checkStream(caller: string): void {
    if (!this.#streams.mayTake(caller)) {
      throw tooMany('Your limit of open live queries is reached. Close one, or retry later.');
    }
  }

  /** Counts an open stream of a caller until the returned function is called. */
  openStream(caller: string): () => void {
    this.#streams.add(caller, 1);
    return () => this.#streams.add(caller, -1);
  }

  /**
   * Starts to count a query for a caller. `keptBytes` is its memory besides its result.
   * @throws GatewayError `TOO_MANY_STREAMS` with `retryAfterMs`.
   */
  openQuery(caller: string, keptBytes: number): QueryRoom {
    if (!this.#bytes.mayTake(caller)) {
      throw tooMany(
        'Your live queries have reached the memory limit per caller. Close one, or select less.',
      );
    }
    if (!this.#watched.mayTake(caller)) {
      throw tooMany(
        'Your live queries have reached the limit of watched cache entries per caller. Close one, or select less.',
      );
    }
    return new QueryRoom(this.#bytes, this.#watched, {
      caller,
      keptBytes,
      reservedBytes: this.#reservedBytes,
    });
  }
}

/** The resources of one query, and the caller for whom they count. */
export class QueryRoom {
  readonly #bytesOfAll: SharedPool;
  readonly #watchedOfAll: SharedPool;
  readonly #keptBytes: number;
  readonly #reservedBytes: number;
  /** Number of streams of each caller. */
  readonly #looking = new Map<string, number>();
  #caller: string;
  #bytes = 0;
  #watched = 0;

  constructor(
    bytes: SharedPool,
    watched: SharedPool,
    terms: {
      readonly caller: string;
      readonly keptBytes: number;
      readonly reservedBytes: number;
    },
  ) {
    this.#bytesOfAll = bytes;
    this.#watchedOfAll = watched;
    this.#keptBytes = terms.keptBytes;
    this.#reservedBytes = terms.reservedBytes;
    this.#caller = terms.caller;
    this.hold(null, 1);
  }

  /** All its viewers; the last one if there is none. */
  get callers(): Iterable<string> {
    return this.#looking.size > 0 ? this.#looking.keys() : [this.#caller];
  }

  /** Adds a stream of a caller. */
  join(caller: string): void {
    this.#looking.set(caller, (this.#looking.get(caller) ?? 0) + 1);
    this.#settleCaller();
  }

  /** Removes a stream of a caller. */
  leave(caller: string): void {
    const rest = (this.#looking.get(caller) ?? 1) - 1;
    if (rest > 0) this.#looking.set(caller, rest);
    else this.#looking.delete(caller);
    this.#settleCaller();
  }

  /**
   * Sets the bytes of its results, `null` before the first, and the number of watched entries. Returns whether they may
   * be kept.
   */
  hold(resultBytes: number | null, watched: number): boolean {
    const bytes = this.#keptBytes + (resultBytes ?? this.#reservedBytes);
    this.#count(bytes - this.#bytes, watched - this.#watched);
    return this.mayStay();
  }

  /**
   * Whether its resources may be kept. If its caller exceeds the limit, it counts from then on for another viewer
   * with room: a query ends only because of its own viewers.
   */
  mayStay(): boolean {
    if (this.#fits) return true;
    const before = this.#caller;
    for (const caller of this.#looking.keys()) {
      this.#countFor(caller);
      if (this.#fits) return true;
    }
    this.#countFor(before);
    return false;
  }

  get #fits(): boolean {
    return this.#bytesOfAll.mayKeep(this.#caller) && this.#watchedOfAll.mayKeep(this.#caller);
  }

  /** It counts for the caller that started it while that caller is a viewer, and then for the next one. */
  #settleCaller(): void {
    const [next] = this.#looking.keys();
    if (next !== undefined && !this.#looking.has(this.#caller)) this.#countFor(next);
  }

  #countFor(caller: string): void {
    const [bytes, watched] = [this.#bytes, this.#watched];
    this.#count(-bytes, -watched);
    this.#caller = caller;
    this.#count(bytes, watched);
  }

  #count(bytes: number, watched: number): void {
    this.#bytesOfAll.add(this.#caller, bytes);
    this.#watchedOfAll.add(this.#caller, watched);
    this.#bytes += bytes;
    this.#watched += watched;
  }

  /** Releases its resources. */
  close(): void {
    this.#count(-this.#bytes, -this.#watched);
  }
}

/** `TOO_MANY_STREAMS`. */
export function tooMany(sentence: string, retryAfterMs = RETRY_MS): GatewayError {
  return new GatewayError('TOO_MANY_STREAMS', sentence, { details: { retryAfterMs } });
}
