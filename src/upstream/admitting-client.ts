import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { BudgetState } from './budget/budget.ts';
import type { EntryState } from './cache/cache.ts';
import type { Access } from './operation.ts';
import type { Call, Read, Write } from './request.ts';
import type { UpstreamClient } from './upstream-client.ts';

/**
 * A client that admits first: nothing is read or written for a caller before `admit` has resolved. What it
 * lets be peeked at only steers; every value that an operation gets comes out of `read`.
 */
export class AdmittingClient implements UpstreamClient {
  readonly #client: UpstreamClient;
  readonly #admit: () => Promise<unknown>;

  /** `admit` rejects for a caller who may not ask; it is asked each time, and answers from the cache. */
  constructor(client: UpstreamClient, admit: () => Promise<unknown>) {
    this.#client = client;
    this.#admit = admit;
  }

  get upstream(): UpstreamName {
    return this.#client.upstream;
  }

  async read<T>(read: Read<T>, access: Access): Promise<T> {
    await this.#admit();
    return this.#client.read(read, access);
  }

  async write<T>(write: Write<T>, access: Access): Promise<T> {
    await this.#admit();
    return this.#client.write(write, access);
  }

  async readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    await this.#admit();
    return this.#client.readSecret(call, access);
  }

  peek<T>(read: Read<T>, credential: Credential): { value: T; state: EntryState } | undefined {
    return this.#client.peek(read, credential);
  }

  inFlight(read: Read<unknown>, credential: Credential): boolean {
    return this.#client.inFlight(read, credential);
  }

  budgetState(credential: Credential): BudgetState {
    return this.#client.budgetState(credential);
  }
}
