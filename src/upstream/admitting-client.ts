import type { AtOnce } from '../at-once.ts';
import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { KeyState } from './budget/budgets.ts';
import type { EntryState } from './cache/cache.ts';
import type { Access, Looking } from './operation.ts';
import type { Call, Read, Write } from './request.ts';
import type { UpstreamClient } from './upstream-client.ts';

/**
 * A client that admits first: before `admit` has resolved for a caller, nothing is read, written or sent
 * for them, nothing is at hand, and nothing of the budget is told.
 */
export class AdmittingClient implements UpstreamClient {
  readonly #client: UpstreamClient;
  readonly #admission: () => Promise<unknown>;
  #admitted = false;

  /** `admission` rejects for a caller who may not ask; it is asked each time, and answers from the cache. */
  constructor(client: UpstreamClient, admission: () => Promise<unknown>) {
    this.#client = client;
    this.#admission = admission;
  }

  get upstream(): UpstreamName {
    return this.#client.upstream;
  }

  /** Resolves for a caller who may ask; whoever looks at what is at hand waits for it. */
  async admit(): Promise<void> {
    try {
      await this.#admission();
      this.#admitted = true;
    } catch (error) {
      this.#admitted = false;
      throw error;
    }
  }

  async read<T>(read: Read<T>, access: Access): Promise<T> {
    await this.admit();
    return this.#client.read(read, access);
  }

  async write<T>(write: Write<T>, access: Access): Promise<T> {
    await this.admit();
    return this.#client.write(write, access);
  }

  async readSecret<T>(call: Call<T>, access: Access): Promise<T> {
    await this.admit();
    return this.#client.readSecret(call, access);
  }

  get sharesCopies(): boolean {
    return this.#client.sharesCopies;
  }

  bring(reads: readonly Read<unknown>[], credential: Credential): AtOnce<void> {
    return this.#admitted ? this.#client.bring(reads, credential) : undefined;
  }

  peek<T>(read: Read<T>, looking: Looking): { value: T; state: EntryState } | undefined {
    return this.#admitted ? this.#client.peek(read, looking) : undefined;
  }

  inFlight(read: Read<unknown>, credential: Credential): boolean {
    return this.#admitted && this.#client.inFlight(read, credential);
  }

  /** @throws TypeError before an admission: to ask for it then is a fault of ours. */
  budgetState(credential: Credential): KeyState {
    if (!this.#admitted) throw new TypeError('a caller was not admitted');
    return this.#client.budgetState(credential);
  }
}
