import type { AtOnce } from '../../at-once.ts';
import type { Credential } from '../../auth/credential.ts';
import type { UpstreamName } from '../../errors.ts';
import type { KeyState } from '../budget/budgets.ts';
import type { QueueForecast } from '../budget/queue-forecast.ts';
import type { EntryState } from '../cache/cache.ts';
import type { Client } from '../client.ts';
import { DecodeError } from '../decode/row-reader.ts';
import type { Access, Looking } from '../operation.ts';
import type { Call, Read, Write } from '../request.ts';
import type { UpstreamClient } from '../upstream-client.ts';
import { nounOf } from '../wire/observed-exchange.ts';
import type { DryRun } from './dry-run.ts';
import type { Wanted } from './planned-requests.ts';

/** Ends what a dry run cannot go on with: nothing was sent, so that there is no answer. */
class NotSent extends Error {
  override readonly name = 'NotSent';
}

/**
 * A client that sends nothing and changes nothing that others see: it answers from the cache, and with
 * made-up rows where that has no answer. 0 upstream calls, and nothing is learnt of what was asked.
 */
export class DryRunClient implements UpstreamClient {
  readonly #client: Client;
  readonly #dryRun: DryRun;
  /** What was made up, by key, so that the same question has the same answer. */
  readonly #placeholders = new Map<string, unknown>();
  /** Tags of what the writes of this operation would make invalid. */
  readonly #touched = new Set<string>();
  /** What an operation may spend: looked up once, for one partition is all that it has here. */
  #limit: number | null = null;
  /** How the queue of its key goes on: one partition is all that an operation has here. */
  #queue: QueueForecast | null = null;
  /** When what is waited for is there, by name. */
  readonly #arrivals = new Map<string, Promise<unknown>>();
  #written = 0;

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
      const brought = this.bring([read], credential);
      if (brought) await brought;
      const key = this.#client.keyOf(read, credential);
      const hit = this.peek(read, access);
      if (hit && hit.state !== 'fallback' && !read.anew) {
        // Whether an old answer still serves depends on how much room the budget has then.
        if (hit.state === 'stale') this.#dryRun.guesses();
        this.#dryRun.hit(key);
        return hit.value;
      }
      // What is left to serve when a request fails, serves at once while the upstream is out of order.
      if (hit) this.#dryRun.guesses();
      const arrival = this.#client.inFlight(read, credential)
        ? this.#joins(key, read, access)
        : this.#calls(key, read, access);
      if (read.uncertain || read.anew) this.#dryRun.guesses();
      await arrival;
      return this.#standIn(key, read, access);
    });
  }

  /** @throws NotSent when nothing can stand in for its answer. */
  write<T>(write: Write<T>, access: Access): Promise<T> {
    return access.caller.receipt.track(async () => {
      const { requests } = this.#dryRun.writes(this.#wanted(write, access, 'write'));
      this.#checkLimit(access.credential);
      await this.#send(requests, access, 'write');
      const standIn = this.#answerOf(write);
      for (const tag of write.touches(standIn?.value ?? null)) this.#touched.add(tag);
      if (!standIn) throw new NotSent();
      return standIn.value;
    });
  }

  /** @throws NotSent */
  readSecret(call: Call<unknown>, access: Access): Promise<never> {
    return access.caller.receipt.track(async () => {
      const { requests } = this.#dryRun.callsUnshared(this.#wanted(call, access, 'read'));
      this.#checkLimit(access.credential);
      await this.#send(requests, access, 'interactive');
      throw new NotSent();
    });
  }

  get sharesCopies(): boolean {
    return this.#client.sharesCopies;
  }

  bring(reads: readonly Read<unknown>[], credential: Credential): AtOnce<void> {
    const brought = this.#client.bring(reads, credential);
    return brought && this.#dryRun.timeline.looks(brought);
  }

  peek<T>(read: Read<T>, looking: Looking): { value: T; state: EntryState } | undefined {
    const hit = this.#client.peek(read, looking);
    if (!hit || this.#touched.size === 0) return hit;
    const tags = [...read.tags, ...(read.lateTags?.(hit.value) ?? [])];
    return tags.some((tag) => this.#touched.has(tag)) ? undefined : hit;
  }

  /** Whether an equal read would be in flight: somebody else's, or one of this operation. */
  inFlight(read: Read<unknown>, credential: Credential): boolean {
    const key = this.#client.keyOf(read, credential);
    return (
      this.#dryRun.counts({ key, about: read.about }) || this.#client.inFlight(read, credential)
    );
  }

  budgetState(credential: Credential): KeyState {
    return this.#client.budgetState(credential);
  }

  /** How many rows a row with this id stands for. */
  rowsOf(id: number): number {
    return this.#dryRun.standIns.rowsOf(id);
  }

  #checkLimit(credential: Credential): void {
    this.#limit ??= this.#client.maxCalls(credential);
    this.#dryRun.checkLimit(this.upstream, this.#limit);
  }

  /** Waits for a request of somebody else. */
  #joins(key: string, read: Read<unknown>, access: Access): Promise<unknown> {
    const { caller, credential } = access;
    this.#dryRun.joins(key);
    const queue = this.#queueOf(access.credential);
    const job = this.#client.shared(read, credential);
    const restMs = Math.max(0, queue.latencyMs - (job?.underWayMs ?? 0));
    const joined = { job, caller: caller.name, restMs };
    return this.#arrival(key, () => this.#dryRun.timeline.joins(queue, joined));
  }

  /** Counts a request, and waits for its answer. */
  #calls(key: string, read: Read<unknown>, access: Access): Promise<unknown> {
    const wanted = this.#wanted(read, access, 'read');
    const { name, requests } = this.#dryRun.calls({ key, about: read.about }, wanted);
    this.#checkLimit(access.credential);
    if (requests > 0) this.#arrivals.delete(name);
    return this.#arrival(name, () => this.#send(requests, access, 'interactive'));
  }

  /** Waits for what was waited for before, or for something new. */
  #arrival(name: string, wait: () => Promise<unknown>): Promise<unknown> {
    const known = this.#arrivals.get(name);
    if (known) return this.#dryRun.timeline.again(known);
    const arrival = wait();
    this.#arrivals.set(name, arrival);
    return arrival;
  }

  #send(requests: number, access: Access, lane: 'write' | 'interactive'): Promise<void> {
    const sent = { lane, caller: access.caller.name, requests };
    return this.#dryRun.timeline.sends(this.#queueOf(access.credential), sent);
  }

  #queueOf(credential: Credential): QueueForecast {
    this.#queue ??= this.#client.forecast(credential);
    return this.#queue;
  }

  #wanted(
    call: Pick<Call<unknown>, 'path'> & {
      readonly resource?: string;
      readonly about?: number | undefined;
    },
    { wantedBy }: Access,
    kind: Wanted['kind'],
  ): Wanted {
    const fields = wantedBy?.(call.about) ?? [];
    return { upstream: this.upstream, resource: call.resource ?? nounOf(call.path), kind, fields };
  }

  #standIn<T>(key: string, read: Read<T>, { suffices }: Access): T {
    if (!read.placeholder) throw new NotSent();
    const { standIns } = this.#dryRun;
    const group = standIns.nameOf(key, read.about);
    const parents = standIns.rowsOf(read.about);
    const idFor = (rows = 1) => standIns.idFor(group, rows * parents);
    const standIn = (this.#placeholders.get(key) ?? read.placeholder(idFor)) as T;
    this.#placeholders.set(key, standIn);
    // A page decides whether more of them are read, unless whoever asks needs no other.
    if (isMadeUpPage(standIn) && !suffices?.(read)) this.#dryRun.guesses();
    return standIn;
  }

  /** What a write would answer that says no more than it must: nothing, or the id of a new row. */
  #answerOf<T>(write: Write<T>): { readonly value: T } | undefined {
    this.#written += 1;
    const id = this.#dryRun.standIns.idFor(`written ${this.#written}`, 1);
    for (const body of [{}, { id }]) {
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
