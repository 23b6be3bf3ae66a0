import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { BudgetState } from './budget/budget.ts';
import type { EntryState } from './cache/cache.ts';
import type { Client } from './client.ts';
import type { Access } from './operation.ts';
import type { Read } from './request.ts';
import type { UpstreamClient } from './upstream-client.ts';

/** What an operation would cost if it were sent now, as `extensions.plan` tells it. */
export interface OperationPlan {
  /** Requests that would leave the gateway. */
  readonly calls: number;
  /** The same by upstream: each has a limit of its own. */
  readonly callsByUpstream: Readonly<Record<UpstreamName, number>>;
  readonly saved: {
    /** Requests not needed, since a cache entry would serve. */
    readonly cache: number;
    /** Requests not needed, since one in flight would serve. */
    readonly coalesced: number;
  };
  /** False when it depends on rows that are not known yet; `calls` is then what it costs if as many come as are asked for. */
  readonly exact: boolean;
}

/** Ends what a dry run cannot go on with: nothing was sent, so that there is no answer. */
class NotSent extends Error {
  override readonly name = 'NotSent';
}

/** Counts what one operation would have to ask of the upstreams. */
export class DryRun {
  readonly #calls = new Map<string, UpstreamName>();
  readonly #hits = new Set<string>();
  readonly #joined = new Set<string>();
  readonly #placeholderIds = new Set<number>();
  #exact = true;
  #unshared = 0;

  /** A cache entry would serve. */
  hit(key: string): void {
    this.#hits.add(key);
  }

  /** A request in flight would serve. */
  joins(key: string): void {
    this.#joined.add(key);
  }

  /** A request would leave, once however often its answer is needed. */
  calls(upstream: UpstreamName, key: string): void {
    this.#calls.set(key, upstream);
  }

  /** A request would leave that can be shared with no other. */
  callsUnshared(upstream: UpstreamName): void {
    this.#unshared += 1;
    this.calls(upstream, `unshared ${this.#unshared}`);
  }

  /** What is counted from here on depends on rows that are not known. */
  guesses(): void {
    this.#exact = false;
  }

  /** An id for a made-up row, from the end of the integers where no upstream has got to. */
  readonly nextPlaceholderId = (): number => {
    const id = Number.MAX_SAFE_INTEGER - this.#placeholderIds.size;
    this.#placeholderIds.add(id);
    return id;
  };

  /** Whether an id is that of a made-up row. */
  isPlaceholder(id: number): boolean {
    return this.#placeholderIds.has(id);
  }

  get plan(): OperationPlan {
    const byUpstream = (name: UpstreamName) =>
      [...this.#calls.values()].filter((upstream) => upstream === name).length;
    return {
      calls: this.#calls.size,
      callsByUpstream: { LINKS: byUpstream('LINKS'), MARKET: byUpstream('MARKET') },
      saved: { cache: this.#hits.size, coalesced: this.#joined.size },
      exact: this.#exact,
    };
  }
}

/**
 * A client that sends nothing and changes nothing that others see: it answers from the cache, and with
 * made-up rows where that has no answer. 0 upstream calls.
 */
export class DryRunClient implements UpstreamClient {
  readonly #client: Client;
  readonly #dryRun: DryRun;
  /** What was made up, by key, so that the same question has the same answer. */
  readonly #placeholders = new Map<string, unknown>();

  constructor(client: Client, dryRun: DryRun) {
    this.#client = client;
    this.#dryRun = dryRun;
  }

  get upstream(): UpstreamName {
    return this.#client.upstream;
  }

  /** @throws NotSent when there is no entry, and nothing to stand in for an answer. */
  read<T>(read: Read<T>, { caller, credential }: Access): Promise<T> {
    return caller.receipt.track(async () => {
      const key = this.#client.keyOf(read, credential);
      const hit = this.#client.peek(read, credential);
      if (hit && hit.state !== 'fallback') {
        this.#dryRun.hit(key);
        return hit.value;
      }
      if (this.#client.inFlight(read, credential)) this.#dryRun.joins(key);
      else this.#dryRun.calls(this.upstream, key);
      if (read.uncertain) this.#dryRun.guesses();
      if (read.about !== undefined && this.#dryRun.isPlaceholder(read.about)) {
        this.#dryRun.guesses();
      }
      return this.#standIn(key, read);
    });
  }

  /** @throws NotSent */
  write(): Promise<never> {
    return this.#unshared();
  }

  /** @throws NotSent */
  readSecret(): Promise<never> {
    return this.#unshared();
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

  #standIn<T>(key: string, read: Read<T>): T {
    if (!read.placeholder) throw new NotSent();
    if (this.#placeholders.has(key)) return this.#placeholders.get(key) as T;
    const standIn = read.placeholder(this.#dryRun.nextPlaceholderId);
    this.#placeholders.set(key, standIn);
    return standIn;
  }

  async #unshared(): Promise<never> {
    this.#dryRun.callsUnshared(this.upstream);
    throw new NotSent();
  }
}
