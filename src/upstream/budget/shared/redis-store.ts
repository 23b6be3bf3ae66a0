import type { CallerClasses } from '../../../auth/caller-class.ts';
import type { UpstreamName } from '../../../errors.ts';
import type { EventStream } from '../../../observe/event-stream.ts';
import type { DocumentStep, Effects, Surroundings } from '../../../redis/document-step.ts';
import { RedisRefused, RedisUnavailable } from '../../../redis/failures.ts';
import type { Replica } from '../../../redis/replica.ts';
import { type Changed, SharedDocument, type SwapMoment } from '../../../redis/shared-document.ts';
import { holdMs, type ProtocolTimes } from '../../../redis/times.ts';
import { inBackground } from '../../../scheduling/at-once.ts';
import { type Clock, momentOf } from '../../../scheduling/clock.ts';
import type { Feedback } from '../../wire/rate-limit-headers.ts';
import type { SharedResult, Slot, SlotRequest } from '../budget.ts';
import type { BudgetView } from '../law/availability.ts';
import { callerInClass, classOf, nameWithoutClass } from '../law/callers/caller-names.ts';
import type { WaitingCounts } from '../law/callers/turns.ts';
import {
  type KeyBudget,
  newBudget,
  newRules,
  type ReservedShares,
  type Rules,
} from '../law/document.ts';
import { cancelSlot, endSlot, renewSlot } from '../law/ended.ts';
import { purge } from '../law/slots.ts';
import type { BudgetStore, Claimed, Queue } from '../store.ts';
import {
  type Barred,
  claimNothing,
  claimShared,
  foreignSlots,
  type KnownWrites,
  type SharedClaim,
  type SharedWant,
  wantOf,
} from './shared-claim.ts';
import { bidsIn, budgetForm } from './texts.ts';

/** Properties shared by all budgets of a replica. */
export interface SharedWorld {
  readonly replica: Pick<Replica, 'applied' | 'call' | 'epoch' | 'heldMs' | 'id'>;
  readonly clock: Clock;
  readonly times: ProtocolTimes;
  readonly events: EventStream;
  readonly generations: KnownWrites;
}

/** The dependencies of a shared budget. */
interface RedisStoreOptions extends SharedWorld {
  readonly upstream: UpstreamName;
  /** Name of the key's budget in Redis. */
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly reserves?: ReservedShares | undefined;
  readonly classes?: CallerClasses | undefined;
  /** See `Rules`; 2 by default. */
  readonly jobsMinPerMinute?: number | undefined;
  readonly timeoutMs: number;
  /** The name of a caller in data that others can read. */
  readonly nameOf: (caller: string) => string;
  /** A name for the next permit, unlike all others. */
  readonly nextId: () => string;
  /** Whether this replica is shutting down: a running claim then gets no slot and leaves no bid. */
  readonly isLeaving: () => boolean;
}

/** How a request ended. */
interface SharedEnding {
  readonly feedback: Feedback;
  readonly key?: string | undefined;
  readonly result?: SharedResult | undefined;
}

/** While slots are awaited, new requests are claimed at most once in this many milliseconds. */
const PACE_MS = 50;
/** Time for which a slot counts after its replica stopped without a report, as it may be suspended. In milliseconds. */
const GHOST_MS = 600_000;

/**
 * Keeps the budget of a key that several replicas share, in Redis. A claim requests permits, which are granted in
 * turn over all replicas; a permit is a slot here.
 */
export class RedisStore implements BudgetStore {
  readonly answersInMs: number;
  readonly rules: Rules;
  readonly nameOf: (caller: string) => string;
  /** Time without requests after Redis has lost its data, in milliseconds. */
  readonly holdMs: number;
  readonly document: SharedDocument<KeyBudget>;
  budget: KeyBudget;
  /** The waiting requests of other replicas, by replica name. */
  bids: ReadonlyMap<string, WaitingCounts> = new Map();
  readonly holder = this;
  readonly #options: RedisStoreOptions;
  /** Slots of others that counted in the latest known budget, by the latest time at which they become free. */
  #foreign: readonly number[] = [];
  #pausedUntil: number | null = null;

  constructor(options: RedisStoreOptions) {
    const { clock, nameOf, times } = options;
    this.#options = options;
    this.answersInMs = times.callMs;
    this.nameOf = (caller) => callerInClass(nameOf(nameWithoutClass(caller)), classOf(caller));
    this.holdMs = holdMs(times, options);
    const { marginMs } = times;
    const counting = { marginMs, holdMs: this.holdMs, ghostMs: GHOST_MS };
    this.rules = newRules(options, counting, () => clock.wall() - this.#now);
    this.budget = newBudget(this.rules, 0);
    let bidTexts: ReadonlyMap<string, string> | undefined;
    this.document = new SharedDocument({
      ...options,
      form: budgetForm(this.rules),
      heard: (known) => {
        this.budget = known?.document ?? newBudget(this.rules, 0);
        if (known?.bids !== bidTexts) this.bids = bidsIn(known?.bids ?? new Map());
        bidTexts = known?.bids;
        this.#emitNews(known?.now ?? 0);
      },
    });
  }

  get view(): BudgetView {
    const { clock, replica } = this.#options;
    const moment = clock.now();
    const { bids, budget, isAlive, rules } = this;
    const now = this.#now;
    purge(budget, rules, now);
    // When Redis is reachable again, none of its data is older than this.
    const heldMs = replica.heldMs(this.holdMs, moment);
    return { budget, now, rules, heldMs, bids: [...bids.values()], isAlive };
  }

  /** The current time on the clock of the budget; 0 before the first reply. */
  get #now(): number {
    const { known } = this.document;
    return known ? known.now + (this.#options.clock.now() - known.heardAt) : 0;
  }

  /** Whether a replica is active. */
  readonly isAlive = (owner: string): boolean =>
    owner === this.#options.replica.id || this.document.known?.others.has(owner) === true;

  async claim(queue: Queue): Promise<Claimed> {
    const { clock, events, nextId, times, upstream } = this.#options;
    // All requests of one turn are claimed together.
    await Promise.resolve();
    const { waits, wants: wanted } = queue.wanted();
    if (wanted.length === 0) return { taken: [], againAt: Infinity, newcomersAt: -Infinity };
    const wants = wanted.map((want) => wantOf(want, nextId()));
    const newcomersAt = clock.now() + PACE_MS;
    try {
      const claim = await this.ask(wants, waits);
      const { stopMs, verdicts } = claim.result;
      const taken = wanted.map(({ request }, at) => {
        const outcome = verdicts[at];
        if (!outcome) return { request, got: null };
        events.emit('permit', { upstream, outcome });
        const id = wants[at]?.id ?? '';
        return {
          request,
          got: outcome === 'go' ? this.#slotOf(request, id, claim, queue) : outcome,
        };
      });
      return { taken, againAt: clock.now() + stopMs, newcomersAt };
    } catch (error) {
      if (!(error instanceof RedisUnavailable || error instanceof RedisRefused)) throw error;
      // The claim may have been granted: its permits are not used, even if that becomes known later.
      if (error instanceof RedisUnavailable && error.doubtful) {
        for (const { id } of wants) {
          events.emit('permit', { upstream, outcome: 'doubtful' });
          inBackground(this.giveBack(id));
        }
      }
      const taken = wanted.map(({ request }) => ({ request, got: null }));
      return { taken, againAt: clock.now() + times.beatMs, newcomersAt };
    }
  }

  /**
   * Requests permits. Rejects with `RedisUnavailable`, whose `doubtful` says that they may have been granted, or
   * with `RedisRefused`.
   */
  ask(wants: readonly SharedWant[], waits: WaitingCounts): Promise<Changed<SharedClaim>> {
    const { generations, isLeaving, replica } = this.#options;
    const barred: Barred = new Map();
    return this.document.change((b, around, effects) => {
      if (isLeaving()) return claimNothing(effects, wants);
      return claimShared(b, around, effects, {
        wants,
        barred,
        waits,
        bids: [...this.bids.values()],
        self: replica.id,
        rules: this.#rulesIn(around),
        holdMs: this.holdMs,
        intentMs: this.#intentMs,
        generations,
      });
    });
  }

  /** Time after which the intent of an unreported write counts as the write, in milliseconds. */
  get #intentMs(): number {
    const { times, timeoutMs } = this.#options;
    return times.sendByMs + timeoutMs + times.marginMs;
  }

  #slotOf(request: SlotRequest, id: string, claim: SwapMoment, queue: Queue): Slot {
    const { clock, events, generations, times, upstream } = this.#options;
    const { lengthy, sharing } = request;
    const cancelRenewal = lengthy ? this.#keepRenewed(id) : () => {};
    return {
      kind: 'slot',
      id,
      stamp: generations.stampOf(claim),
      // Uses both clocks: one stops while the machine sleeps, the other can be set back.
      mayLeave: () => {
        const { now, wall } = momentOf(clock);
        return Math.max(now - claim.sent.now, wall - claim.sent.wall) < times.sendByMs;
      },
      release: () => {
        cancelRenewal();
        events.emit('permit', { upstream, outcome: 'unsent' });
        inBackground(this.giveBack(id));
        queue.freed(false);
      },
      end: (feedback, result) => {
        cancelRenewal();
        const noted = this.ended(id, claim.epoch, { feedback, key: sharing?.key, result });
        queue.freed(feedback.refused !== undefined, noted);
      },
    };
  }

  /** Returns a permit that was not used, or may not have been granted. */
  async giveBack(id: string): Promise<void> {
    await this.#report((b, _, effects) => {
      cancelSlot(b, id);
      effects.dropped.add(id);
      this.#tellEnded(effects, false);
    });
  }

  /**
   * Reports the end of a request whose permit was granted in an epoch; `key` names the read for other replicas. A
   * failed report is retried for as long as it matters.
   */
  async ended(id: string, epoch: string, of: SharedEnding): Promise<void> {
    const { clock, replica } = this.#options;
    const { feedback, key, result } = of;
    const at = clock.now();
    await this.#report((b, around, effects) => {
      const isKept = result?.kind === 'shared' && epoch === replica.epoch;
      const flight = b.held.find((slot) => slot.id === id)?.flight;
      endSlot(b, this.#rulesIn(around), around.now, {
        id,
        owner: replica.id,
        feedback,
        agoMs: clock.now() - at,
        ...(isKept && flight ? { flight: { ...flight, keptAt: around.shared } } : {}),
      });
      if (result?.kind === 'nothing') effects.dropped.add(id);
      this.#tellEnded(effects, isKept, key, result?.kind === 'failed' ? result.code : undefined);
    });
  }

  /** A lengthy request is still running. */
  async renew(id: string): Promise<void> {
    await this.#report((b, around, effects) => {
      renewSlot(b, this.#rulesIn(around), around.now, id, this.#options.replica.id);
      effects.renewed.set(id, this.holdMs);
    });
  }

  /** Renews a permit until the returned function is called. */
  #keepRenewed(id: string): () => void {
    let cancel = (): void => {};
    let isOver = false;
    // A failed renewal is retried automatically: another one in parallel would get the same reply.
    const renewLater = (): void => {
      if (isOver) return;
      cancel = this.#options.clock.after(this.holdMs / 4, () =>
        inBackground(this.renew(id).then(renewLater)),
      );
    };
    renewLater();
    return () => {
      isOver = true;
      cancel();
    };
  }

  /** A slot counts longer by the uncertainty of the time. */
  #rulesIn({ unsureMs }: Surroundings): Rules {
    const { marginMs } = this.rules;
    return { ...this.rules, marginMs: marginMs + unsureMs, holdMs: this.holdMs + unsureMs };
  }

  /** Emits the effects of other replicas on the budget, as of a time on its own clock. */
  #emitNews(now: number): void {
    const { events, replica, upstream } = this.#options;
    const { pause } = this.budget;
    const before = this.#foreign.filter((until) => until > now).length;
    this.#foreign = foreignSlots(this.budget, replica.id).filter((until) => until > now);
    const count = this.#foreign.length - before;
    if (count > 0) events.emit('foreign', { upstream, count });
    const wasPaused = (this.#pausedUntil ?? now) > now;
    this.#pausedUntil = pause.until;
    const isPaused = pause.until !== null && pause.until > now;
    if (isPaused && !wasPaused) events.emit('paused', { upstream, ms: (pause.until ?? now) - now });
  }

  #tellEnded({ messages }: Effects, kept: boolean, key?: string, code?: string): void {
    const by = this.#options.replica.id;
    const message = { kind: 'ended', document: this.document.name, key, kept, code, by };
    messages.push({ text: JSON.stringify(message), always: key !== undefined });
  }

  async #report(step: DocumentStep<KeyBudget, void>): Promise<void> {
    // Then every earlier permit has expired.
    await this.document.insist(step, 2 * this.holdMs);
  }
}
