import type { UpstreamName } from '../../errors.ts';
import type { Budgets } from '../budget/budgets.ts';
import type { CachedReads } from '../cached-reads.ts';
import { type Access, mostCallsOf, namedInBudget, type PlannedMode } from '../operation.ts';
import type { InFlight } from '../reads/in-flight.ts';
import type { Call, KeyedRead, Read, Write } from '../request.ts';
import { resourceOf } from '../wire/exchange.ts';
import type { Wire } from '../wire/wire.ts';
import type { DryRun, Wanted } from './dry-run.ts';

/** Ends a part of a dry run that cannot continue: nothing was sent, so there is no response. */
class NotSent extends Error {
  override readonly name = 'NotSent';
}

interface PlannedReadsOptions {
  readonly upstream: UpstreamName;
  readonly budgets: Budgets;
  readonly cached: CachedReads;
  readonly inFlight: InFlight;
  readonly wire: Wire;
}

/**
 * The reads and writes of dry runs. Nothing is sent, and nothing changes for others: responses come from the
 * cache, or from placeholders. Costs no upstream request, and records no reads.
 */
export class PlannedReads {
  readonly #options: PlannedReadsOptions;

  constructor(options: PlannedReadsOptions) {
    this.#options = options;
  }

  /** Returns the cached response, also an old one for which a new one would be requested, or a placeholder. */
  read<T>(of: KeyedRead<T>, access: Access, { dryRun, ...mode }: PlannedMode): Promise<T> {
    const { caller } = access;
    const { key, read } = of;
    return caller.receipt.track(async () => {
      const hit = this.#options.cached.peek(of, access);
      // Whether an old response is still sufficient depends on the free budget at that time.
      if (hit && hit.state !== 'fresh' && !caller.bulk) dryRun.guesses();
      if (hit && this.#options.cached.serves(of, hit, caller)) {
        dryRun.hit(key, mode.isAgain);
        return hit.entry.value;
      }
      const isOwn = dryRun.counts({ key, about: read.about });
      if (!isOwn && this.#options.inFlight.isExpected(key)) dryRun.joins(key);
      else {
        dryRun.calls({ key, about: read.about }, this.#wanted(read, mode, 'read'));
        this.#sends(access, 'interactive', dryRun);
      }
      if (read.page?.uncertain || read.page?.reload) dryRun.guesses();
      await dryRun.rounds.response();
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
      dryRun.writes(this.#wanted(write, mode, 'write'));
      this.#sends(access, 'write', dryRun);
      await dryRun.rounds.response();
      const madeUp = dryRun.standIns.answerToWrite(write);
      const touched = write.touches(madeUp?.value ?? null);
      dryRun.written(this.#options.cached.tagsOf(touched, access.credential));
      if (!madeUp) throw new NotSent();
      return madeUp.value;
    });
  }

  /** @throws NotSent */
  readSecret(call: Call<unknown>, access: Access, mode: PlannedMode): Promise<never> {
    const { dryRun } = mode;
    return access.caller.receipt.track(async () => {
      dryRun.callsUnshared(this.#wanted(call, mode, 'read'));
      this.#sends(access, 'interactive', dryRun);
      await dryRun.rounds.response();
      throw new NotSent();
    });
  }

  /** Compares the count with the limit of the operation, and notes when a request would be sent. */
  #sends({ caller, credential }: Access, lane: 'write' | 'interactive', dryRun: DryRun): void {
    const { budgets, upstream, wire } = this.#options;
    dryRun.checkLimit(upstream, () => mostCallsOf(caller, budgets.maxCalls(credential)));
    dryRun.startsIn(upstream, () => {
      const estimateMs = budgets.lookAt(credential).estimate(lane, namedInBudget(caller));
      return Math.max(wire.heldMs, estimateMs);
    });
  }

  #wanted(
    call: Pick<Call<unknown>, 'path'> & Partial<Pick<Read<unknown>, 'about' | 'resource'>>,
    { wantedBy }: Pick<PlannedMode, 'wantedBy'>,
    kind: Wanted['kind'],
  ): Wanted {
    const fields = wantedBy?.(call.about) ?? [];
    return { upstream: this.#options.upstream, resource: resourceOf(call), kind, fields };
  }
}
