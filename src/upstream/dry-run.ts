import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { BudgetState } from './budget/budget.ts';
import type { EntryState } from './cache/cache.ts';
import type { Client } from './client.ts';
import { DecodeError } from './decode/row-reader.ts';
import type { Access } from './operation.ts';
import type { Read, Write } from './request.ts';
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
  /**
   * False when it depends on answers that are not known yet; `calls` is then what it costs if as many rows
   * come as are asked for.
   */
  readonly exact: boolean;
}

/** One that no field refuses to show: a field that fails would leave those beside it uncounted. */
const LARGEST_ID = 2 ** 31 - 1;

/** Ends what a dry run cannot go on with: nothing was sent, so that there is no answer. */
class NotSent extends Error {
  override readonly name = 'NotSent';
}

/**
 * Counts what one operation would have to ask of the upstreams. What it asks for before any stand-in for an
 * answer is given out, it asks for whatever the answers are; what it asks for anew from then on can
 * depend on them, and is a guess.
 */
export class DryRun {
  readonly #calls = new Map<string, UpstreamName>();
  readonly #hits = new Set<string>();
  readonly #joined = new Set<string>();
  #placeholderIds = 0;
  #exact = true;
  #unshared = 0;
  #answering = false;

  /** A cache entry would serve. */
  hit(key: string): void {
    this.#asked(key);
    this.#hits.add(key);
  }

  /** A request in flight would serve. */
  joins(key: string): void {
    this.#asked(key);
    this.#joined.add(key);
  }

  /** A request would leave, once however often its answer is needed. */
  calls(upstream: UpstreamName, key: string): void {
    this.#asked(key);
    this.#calls.set(key, upstream);
  }

  /** A write would leave, which is shared with no other. Whatever other answers are, it is made. */
  writes(upstream: UpstreamName): void {
    this.#unshared += 1;
    this.#calls.set(`unshared ${this.#unshared}`, upstream);
  }

  /** A read would leave that can be shared with no other. */
  callsUnshared(upstream: UpstreamName): void {
    this.#unshared += 1;
    this.calls(upstream, `unshared ${this.#unshared}`);
  }

  /** Whether a request for this is counted already. */
  counts(key: string): boolean {
    return this.#calls.has(key);
  }

  /** What is counted depends on answers that are not known. */
  guesses(): void {
    this.#exact = false;
  }

  /** Resolves when all is asked for that needs no further answer: then stand-ins are given out. */
  async answers(): Promise<void> {
    // What is known leads on within one turn of the event loop.
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    this.#answering = true;
  }

  /** An id for a made-up row, from the end of what the graph can show, where no upstream has got to. */
  readonly nextPlaceholderId = (): number => {
    this.#placeholderIds += 1;
    return LARGEST_ID - this.#placeholderIds;
  };

  get plan(): OperationPlan {
    return {
      calls: this.#calls.size,
      callsByUpstream: { LINKS: this.callsTo('LINKS'), MARKET: this.callsTo('MARKET') },
      saved: { cache: this.#hits.size, coalesced: this.#joined.size },
      exact: this.#exact,
    };
  }

  /** Requests that would leave for one upstream. */
  callsTo(upstream: UpstreamName): number {
    return [...this.#calls.values()].filter((each) => each === upstream).length;
  }

  #asked(key: string): void {
    const known = this.#calls.has(key) || this.#hits.has(key) || this.#joined.has(key);
    if (this.#answering && !known) this.guesses();
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
  /** Tags of what the writes of this operation would make invalid. */
  readonly #touched = new Set<string>();

  constructor(client: Client, dryRun: DryRun) {
    this.#client = client;
    this.#dryRun = dryRun;
  }

  get upstream(): UpstreamName {
    return this.#client.upstream;
  }

  /** @throws NotSent when there is no entry, and nothing to stand in for an answer. */
  read<T>(read: Read<T>, access: Access): Promise<T> {
    const { caller, credential } = access;
    return caller.receipt.track(async () => {
      const key = this.#client.keyOf(read, credential);
      const hit = this.peek(read, credential);
      if (hit && hit.state !== 'fallback' && !read.anew) {
        // Whether an old answer still serves depends on how much room the budget has then.
        if (hit.state === 'stale') this.#dryRun.guesses();
        this.#dryRun.hit(key);
        return hit.value;
      }
      // What is left to serve when a request fails, serves at once while the upstream is out of order.
      if (hit) this.#dryRun.guesses();
      if (this.#client.inFlight(read, credential)) this.#dryRun.joins(key);
      else this.#count(key, credential);
      if (read.uncertain || read.anew) this.#dryRun.guesses();
      return this.#standIn(key, read, access);
    });
  }

  /** @throws NotSent when nothing can stand in for its answer. */
  write<T>(write: Write<T>, { credential, caller }: Access): Promise<T> {
    return caller.receipt.track(async () => {
      this.#dryRun.writes(this.upstream);
      this.#checkLimit(credential);
      await this.#dryRun.answers();
      const standIn = this.#written(write);
      for (const tag of write.touches(standIn?.value ?? null)) this.#touched.add(tag);
      if (!standIn) throw new NotSent();
      return standIn.value;
    });
  }

  /** @throws NotSent */
  async readSecret(_call: unknown, { credential }: Access): Promise<never> {
    this.#dryRun.callsUnshared(this.upstream);
    this.#checkLimit(credential);
    await this.#dryRun.answers();
    throw new NotSent();
  }

  peek<T>(read: Read<T>, credential: Credential): { value: T; state: EntryState } | undefined {
    const hit = this.#client.peek(read, credential);
    if (!hit || this.#touched.size === 0) return hit;
    const tags = [...read.tags, ...(read.lateTags?.(hit.value) ?? [])];
    return tags.some((tag) => this.#touched.has(tag)) ? undefined : hit;
  }

  /** Whether an equal read would be in flight: somebody else's, or one of this operation. */
  inFlight(read: Read<unknown>, credential: Credential): boolean {
    const own = this.#dryRun.counts(this.#client.keyOf(read, credential));
    return own || this.#client.inFlight(read, credential);
  }

  budgetState(credential: Credential): BudgetState {
    return this.#client.budgetState(credential);
  }

  #count(key: string, credential: Credential): void {
    this.#dryRun.calls(this.upstream, key);
    this.#checkLimit(credential);
  }

  /** An operation that needs more than it may is turned away, for all of it or for some. */
  #checkLimit(credential: Credential): void {
    const { limit } = this.#client.budgetState(credential);
    if (this.#dryRun.callsTo(this.upstream) > limit) this.#dryRun.guesses();
  }

  async #standIn<T>(key: string, read: Read<T>, { suffices }: Access): Promise<T> {
    await this.#dryRun.answers();
    if (!read.placeholder) throw new NotSent();
    const standIn = (this.#placeholders.get(key) ??
      read.placeholder(this.#dryRun.nextPlaceholderId)) as T;
    this.#placeholders.set(key, standIn);
    // A page decides whether more of them are read, unless whoever asks needs no other.
    if (isMadeUpPage(standIn) && !suffices?.(read)) this.#dryRun.guesses();
    return standIn;
  }

  /** What a write would answer that says no more than it must: nothing, or the id of a new row. */
  #written<T>(write: Write<T>): { readonly value: T } | undefined {
    for (const body of [{}, { id: this.#dryRun.nextPlaceholderId() }]) {
      try {
        return { value: write.decode(body, { timeZone: 'UTC', surprise: () => {} }) };
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
      }
    }
    return undefined;
  }
}

function isMadeUpPage(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'placeholder' in value;
}
