import { GatewayError } from '../errors.ts';

/** Uploads at a time over all keys: each holds some memory and a connection. */
const MOST_OF_ALL = 1000;
/** Of these, with keys that the upstream has not accepted: anyone can invent those. */
const MOST_UNKNOWN = 64;
/** Memory for the first bytes of all uploads together, in case they must be sent again. */
const REPLAY_BYTES = 8 * 1024 * 1024;
/** When to try again for a place: how long those under way will take is unknown. */
const RETRY_AFTER_MS = 5000;

/** An upload under way. */
export interface UploadPlace {
  /** Whether `bytes` more may be held in memory. They are held until `leave`. */
  hold(bytes: number): boolean;
  /** Gives the place to the next. */
  leave(): void;
}

/** `BUDGET_EXHAUSTED` for an upload, `TOO_MANY_STREAMS` for a download, that is not even begun. */
export class TooManyTransfers extends GatewayError {
  override readonly name = 'TooManyTransfers';
  /** 429 for the limit of the caller, otherwise 503. */
  readonly status: 429 | 503;
  constructor(status: 429 | 503, what: 'download' | 'upload') {
    const isUpload = what === 'upload';
    super(
      isUpload ? 'BUDGET_EXHAUSTED' : 'TOO_MANY_STREAMS',
      `${status === 429 ? 'Your' : 'The'} limit of concurrent ${what}s is reached. Retry after a running ${what} has ended.`,
      {
        details: {
          ...(isUpload && { upstream: 'LINKS', reason: 'uploads' }),
          retryAfterMs: RETRY_AFTER_MS,
        },
      },
    );
    this.status = status;
  }
}

/**
 * Limits the uploads under way, since each can hold a slot of its key's budget for as long as it takes: over
 * all callers of a key, and to half of that for one caller, so that none can shut out the others.
 */
export class UploadPlaces {
  readonly #perKey: number;
  readonly #perCaller: number;
  readonly #taken = new Map<string, number>();
  #all = 0;
  #unknown = 0;
  #heldBytes = 0;

  /** `most`: concurrent uploads under one key, whose limit per window is `rateLimit`. */
  constructor(most: number, rateLimit = Number.POSITIVE_INFINITY) {
    // Each may hold a slot for long: half of them are left to everything else.
    this.#perKey = Math.max(1, Math.min(most, Math.floor(rateLimit / 2)));
    this.#perCaller = Math.ceil(this.#perKey / 2);
  }

  /**
   * Takes a place for a caller. The key's name identifies the budget, and is not a secret.
   * @throws TooManyTransfers `BUDGET_EXHAUSTED` if there is none.
   */
  take(caller: string, key: { readonly name: string; readonly accepted: boolean }): UploadPlace {
    const ofKey = `key ${key.name}`;
    const ofCaller = `caller ${key.name} ${caller}`;
    if (this.#count(ofCaller) >= this.#perCaller) throw new TooManyTransfers(429, 'upload');
    if (this.#count(ofKey) >= this.#perKey || this.#all >= MOST_OF_ALL) {
      throw new TooManyTransfers(503, 'upload');
    }
    if (!key.accepted && this.#unknown >= MOST_UNKNOWN) throw new TooManyTransfers(503, 'upload');
    if (!key.accepted) this.#unknown += 1;
    this.#add(1, ofKey, ofCaller);
    let held = 0;
    let left = false;
    return {
      hold: (bytes) => {
        if (left || this.#heldBytes + bytes > REPLAY_BYTES) return false;
        held += bytes;
        this.#heldBytes += bytes;
        return true;
      },
      leave: () => {
        if (left) return;
        left = true;
        if (!key.accepted) this.#unknown -= 1;
        this.#heldBytes -= held;
        this.#add(-1, ofKey, ofCaller);
      },
    };
  }

  #count(name: string): number {
    return this.#taken.get(name) ?? 0;
  }

  #add(change: number, ...names: readonly string[]): void {
    this.#all += change;
    for (const name of names) {
      const count = this.#count(name) + change;
      if (count === 0) this.#taken.delete(name);
      else this.#taken.set(name, count);
    }
  }
}
