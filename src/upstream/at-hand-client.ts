import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { Client } from './client.ts';
import type { Copy } from './copies.ts';
import type { Access } from './operation.ts';
import type { Read } from './request.ts';
import type { UpstreamClient } from './upstream-client.ts';

/** Thrown by whatever cannot be answered from memory at once. Nothing has happened then. */
export const NOT_AT_HAND = Symbol('not at hand');

/** What an operation was answered from so far, by a client that only looks at what is at hand. */
export class CopiesAtHand {
  readonly #copies: { readonly client: Client; readonly copy: Copy; readonly access: Access }[] =
    [];

  /** A copy was looked at. */
  add(client: Client, copy: Copy, access: Access): void {
    this.#copies.push({ client, copy, access });
  }

  /** The operation is answered from them: only now are they asked for, served, and on the receipt. */
  settle(): void {
    for (const { client, copy, access } of this.#copies) client.answered(copy, access);
  }
}

/**
 * A client that answers from the cache at once or not at all, and leaves no trace of having been asked: for
 * an attempt to answer an operation from memory. 0 upstream calls.
 */
export class AtHandClient implements UpstreamClient {
  readonly #client: Client;
  readonly #copies: CopiesAtHand;

  constructor(client: Client, copies: CopiesAtHand) {
    this.#client = client;
    this.#copies = copies;
  }

  get upstream(): UpstreamName {
    return this.#client.upstream;
  }

  /** @throws NOT_AT_HAND */
  read<T>(read: Read<T>, access: Access): T {
    const copy = this.#client.atHand(read, access.credential);
    if (!copy) throw NOT_AT_HAND;
    this.#copies.add(this.#client, copy, access);
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

  peek<T>(
    read: Read<T>,
    credential: Credential,
  ): (ReturnType<Client['peek']> & { value: T }) | undefined {
    return this.#client.peek(read, credential);
  }

  inFlight(read: Read<unknown>, credential: Credential): boolean {
    return this.#client.inFlight(read, credential);
  }

  /** @throws NOT_AT_HAND always: what it tells is true of one moment only. */
  budgetState(): never {
    throw NOT_AT_HAND;
  }
}
