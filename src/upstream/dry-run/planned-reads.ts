import type { Credential } from '../../auth/credential.ts';
import type { QueueForecast } from '../budget/estimates/queue-forecast.ts';
import type { Hit } from '../cache/cache.ts';
import { type KeyedRead, tagsOfAnswer } from '../cache/key.ts';
import type { Client } from '../client.ts';
import {
  type Access,
  type Caller,
  laneOf,
  mostCallsOf,
  namedInBudget,
  type PlannedMode,
} from '../operation.ts';
import type { Call, Read, Write } from '../request.ts';
import { resourceOf } from '../wire/exchange.ts';
import type { DryRun, Wanted } from './dry-run.ts';

/** Ends a part of a dry run that cannot continue: nothing was sent, so there is no response. */
class NotSent extends Error {
  override readonly name = 'NotSent';
}

/**
 * The reads and writes of dry runs. Nothing is sent, and nothing changes for others: responses come from the
 * cache, or from placeholders. Costs no upstream request, and records no reads.
 */
export class PlannedReads {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Returns the cached response, also an old one for which a new one would be requested, or a placeholder. */
  read<T>(of: KeyedRead<T>, access: Access, { dryRun, ...mode }: PlannedMode): Promise<T> {
    const { caller } = access;
    const { key, read } = of;
    return caller.receipt.track(async () => {
      const prefetched = this.#client.sharedCache?.prefetchAll([of]);
      if (prefetched) await dryRun.timeline.looks(prefetched);
      const found = this.#client.cached.peek(of, caller);
      const hit = found && this.unlessWritten(of, found, dryRun);
      // Whether an old response is still sufficient depends on the free budget at that time.
      if (hit && hit.state !== 'fresh' && !caller.bulk) dryRun.guesses();
      if (hit && this.#client.cached.serves(of, hit, caller)) {
        dryRun.hit(key, mode.isAgain);
        return hit.entry.value;
      }
      const isOwn = dryRun.counts({ key, about: read.about });
      const arrival =
        !isOwn && this.#client.inFlight.isExpected(key)
          ? this.#joins(of, caller, dryRun)
          : this.#calls(of, access, { dryRun, ...mode });
      if (read.page?.uncertain || read.page?.reload) dryRun.guesses();
      await arrival;
      // A page determines whether more pages are read, unless the reader needs only this one.
      if (read.page && !mode.suffices?.(read)) dryRun.guesses();
      // What an old response has is closer to the new one than a placeholder.
      return hit && !read.page?.reload ? hit.entry.value : dryRun.standIns.answerTo(of);
    });
  }

  /** @throws NotSent if there is no placeholder for its response. */
  write<T>(write: Write<T>, access: Access, mode: PlannedMode): Promise<T> {
    const { dryRun } = mode;
    return access.caller.receipt.track(async () => {
      await write.guard?.();
      const { requests } = dryRun.writes(this.#wanted(write, mode, 'write'));
      this.#checkLimit(access, dryRun);
      await this.#send(requests, access, 'write', dryRun);
      const madeUp = dryRun.standIns.answerToWrite(write);
      const touched = write.touches(madeUp?.value ?? null);
      dryRun.written(this.#client.cached.tagsOf(touched, access.credential));
      if (!madeUp) throw new NotSent();
      return madeUp.value;
    });
  }

  /** @throws NotSent */
  readSecret(call: Call<unknown>, access: Access, mode: PlannedMode): Promise<never> {
    const { dryRun } = mode;
    return access.caller.receipt.track(async () => {
      const { requests } = dryRun.callsUnshared(this.#wanted(call, mode, 'read'));
      this.#checkLimit(access, dryRun);
      await this.#send(requests, access, 'interactive', dryRun);
      throw new NotSent();
    });
  }

  /** An entry, unless a write of the same dry run would have made it invalid. */
  unlessWritten<T>(of: KeyedRead<T>, hit: Hit<T>, dryRun: DryRun): Hit<T> | undefined {
    return dryRun.hasWritten(() => tagsOfAnswer(of, hit.entry.value)) ? undefined : hit;
  }

  #checkLimit({ caller, credential }: Access, dryRun: DryRun): void {
    const { budgets, upstream } = this.#client;
    dryRun.checkLimit(upstream, () => mostCallsOf(caller, budgets.maxCalls(credential)));
  }

  /** Waits for a request of another operation. */
  #joins(of: KeyedRead, reader: Caller, dryRun: DryRun): Promise<unknown> {
    dryRun.joins(of.key);
    const queue = this.#queueOf(of.credential, dryRun);
    const [caller, lane] = [namedInBudget(reader), laneOf(reader, 'interactive', queue)];
    const job = this.#client.inFlight.find(of.key)?.waiters;
    const restMs = Math.max(0, queue.latencyMs - (job?.underWayMs ?? 0));
    return dryRun.arrival(of.key, () =>
      dryRun.timeline.joins(queue, { job, caller, lane, restMs }),
    );
  }

  /** Counts a request, and waits for its simulated response. */
  #calls({ key, read }: KeyedRead, access: Access, mode: Omit<PlannedMode, 'kind'>) {
    const { dryRun } = mode;
    const wanted = this.#wanted(read, mode, 'read');
    const { name, requests } = dryRun.calls({ key, about: read.about }, wanted);
    this.#checkLimit(access, dryRun);
    const send = () => this.#send(requests, access, 'interactive', dryRun);
    return dryRun.arrival(name, send, requests > 0);
  }

  #send(
    requests: number,
    { caller, credential }: Access,
    lane: 'write' | 'interactive',
    dryRun: DryRun,
  ): Promise<void> {
    const queue = this.#queueOf(credential, dryRun);
    const sent = { lane: laneOf(caller, lane, queue), caller: namedInBudget(caller), requests };
    return dryRun.timeline.sends(queue, sent);
  }

  #queueOf(credential: Credential, dryRun: DryRun): QueueForecast {
    return dryRun.queueOf(this.#client.upstream, () =>
      this.#client.budgets.lookAt(credential).forecast(this.#client.heldMs),
    );
  }

  #wanted(
    call: Pick<Call<unknown>, 'path'> & Partial<Pick<Read<unknown>, 'about' | 'resource'>>,
    { wantedBy }: Pick<PlannedMode, 'wantedBy'>,
    kind: Wanted['kind'],
  ): Wanted {
    const fields = wantedBy?.(call.about) ?? [];
    return { upstream: this.#client.upstream, resource: resourceOf(call), kind, fields };
  }
}
