import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { Resource } from '../resources.ts';
import type { EntryState } from './cache/cache.ts';
import type { Client } from './client.ts';
import type { Copies, Copy } from './copies.ts';
import type { Access, Looking } from './operation.ts';
import type { Receipt } from './receipt.ts';
import type { Read } from './request.ts';
import type { UpstreamClient } from './upstream-client.ts';

/** Thrown by whatever cannot be answered from memory at once. Nothing has happened then. */
export const NOT_AT_HAND = Symbol('not at hand');

/** A copy that was looked at, and with which credential. */
export interface Looked {
  readonly copies: Copies;
  readonly copy: Copy;
  readonly credential: Credential;
}

/** How often copies of one kind served an operation. */
interface Tally {
  readonly copies: Copies;
  readonly resource: Resource;
  readonly stale: boolean;
  times: number;
}

/** What an operation was answered from so far, by clients that only look at what is at hand. */
export class CopiesAtHand {
  readonly #looked: Looked[] = [];

  /** A copy was looked at. */
  add(looked: Looked): void {
    this.#looked.push(looked);
  }

  /** How many were looked at. */
  get count(): number {
    return this.#looked.length;
  }

  /** Those that were looked at after the first so many. */
  after(count: number): readonly Looked[] {
    return this.#looked.slice(count);
  }

  /** The operation is answered from them: only now are they asked for, counted, and on its receipt. */
  settle(receipt: Receipt): void {
    const tallies: Tally[] = [];
    for (const { copies, copy, credential } of this.#looked) {
      copies.asked(copy, credential);
      copies.tell(copy, receipt);
      const { resource } = copy.read;
      const stale = copy.hit.state !== 'fresh';
      // There are few kinds: to look through them costs less than to tell of each copy.
      const tally = tallies.find(
        (each) => each.copies === copies && each.resource === resource && each.stale === stale,
      );
      if (tally) tally.times += 1;
      else tallies.push({ copies, resource, stale, times: 1 });
    }
    for (const { copies, resource, stale, times } of tallies) copies.count(resource, stale, times);
  }
}

/**
 * A client that answers from the cache at once or not at all, and leaves no trace of having been asked: for
 * an attempt to answer an operation from memory. 0 upstream calls.
 */
export class AtHandClient implements UpstreamClient {
  readonly #client: Client;
  readonly #looked: CopiesAtHand;

  /** What it looks at is noted in `looked`. */
  constructor(client: Client, looked: CopiesAtHand) {
    this.#client = client;
    this.#looked = looked;
  }

  get upstream(): UpstreamName {
    return this.#client.upstream;
  }

  /** @throws NOT_AT_HAND */
  read<T>(read: Read<T>, { credential }: Access): T {
    const { copies } = this.#client;
    const copy = copies.find(read, this.#client.keyOf(read, credential), credential);
    if (!copy || !copies.serves(copy, credential)) throw NOT_AT_HAND;
    this.#looked.add({ copies, copy, credential });
    return copy.hit.entry.value as T;
  }

  /** @throws NOT_AT_HAND always. */
  write(): never {
    throw NOT_AT_HAND;
  }

  /** @throws NOT_AT_HAND always. */
  readSecret(): never {
    throw NOT_AT_HAND;
  }

  readonly sharesCopies = false;

  /** Nothing is at hand that is not in this process. */
  bring(): void {}

  peek<T>(read: Read<T>, looking: Looking): { value: T; state: EntryState } | undefined {
    return this.#client.peek(read, looking);
  }

  inFlight(read: Read<unknown>, credential: Credential): boolean {
    return this.#client.inFlight(read, credential);
  }

  /** @throws NOT_AT_HAND always: what it tells is true of one moment only. */
  budgetState(): never {
    throw NOT_AT_HAND;
  }
}
