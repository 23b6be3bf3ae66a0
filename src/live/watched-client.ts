import type { AtOnce } from '../at-once.ts';
import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { KeyState } from '../upstream/budget/budgets.ts';
import type { EntryState } from '../upstream/cache/cache.ts';
import type { Client } from '../upstream/client.ts';
import type { Access, Looking } from '../upstream/operation.ts';
import type { Read } from '../upstream/request.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import type { WatchedReads } from './watched-reads.ts';

/** A client whose reads are watched from before they are answered, so that no change of them goes unseen. */
export class WatchedClient implements UpstreamClient {
  readonly #client: Client;
  readonly #reads: WatchedReads;

  constructor(client: Client, reads: WatchedReads) {
    this.#client = client;
    this.#reads = reads;
  }

  get upstream(): UpstreamName {
    return this.#client.upstream;
  }

  read<T>(read: Read<T>, access: Access): AtOnce<T> {
    const answered = this.#reads.begin(this.#client, read, access.credential);
    try {
      const value = this.#client.read(read, access);
      if (!(value instanceof Promise)) {
        answered();
        return value;
      }
      // A failed read is watched too: when it succeeds for somebody else, it does here.
      return value.finally(answered);
    } catch (error) {
      answered();
      throw error;
    }
  }

  /** @throws TypeError always: queries write nothing. */
  write(): never {
    throw new TypeError('a live query wrote');
  }

  /** @throws TypeError always: what selects a secret is refused before it is run. */
  readSecret(): never {
    throw new TypeError('a live query asked for a secret');
  }

  get sharesCopies(): boolean {
    return this.#client.sharesCopies;
  }

  bring(reads: readonly Read<unknown>[], credential: Credential): AtOnce<void> {
    return this.#client.bring(reads, credential);
  }

  peek<T>(read: Read<T>, looking: Looking): { value: T; state: EntryState } | undefined {
    return this.#client.peek(read, looking);
  }

  inFlight(read: Read<unknown>, credential: Credential): boolean {
    return this.#client.inFlight(read, credential);
  }

  budgetState(credential: Credential): KeyState {
    return this.#reads.budgets.look(this.#client, credential);
  }
}
