import { BudgetExhausted, type UpstreamName, upstreamTitle } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Asker } from '../../observe/events.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Budget } from '../budget/budget.ts';
import type { Slot } from '../budget/key-budget-store.ts';
import { classOf, nameWithoutClass } from '../budget/law/callers.ts';
import type { Lane } from '../budget/law/document.ts';
import type { SlotRequest } from '../budget/queue.ts';
import { FallbackWillDo } from '../fallback.ts';
import { type Caller, namedInBudget, waitsAs } from '../operation.ts';
import type { Receipt } from '../receipt.ts';
import type { Departing } from '../wire/wire.ts';
import { type Outcome, Waiter } from './waiter.ts';

/** The properties shared by all requests to an upstream. */
export interface WaitersWorld {
  readonly upstream: UpstreamName;
  readonly clock: Clock;
  readonly events: EventStream | undefined;
}

/** The read of a request, and its credential. */
interface WaitersOptions extends WaitersWorld {
  readonly budget: Budget;
  readonly lane: Lane;
  /** The caller to which the slot is charged, see `callerInClass`. */
  readonly caller: string;
  /** The resource, e.g. `channels`. */
  readonly resource: string;
  /**
   * The receipt of the operation that has set aside a request for it; returned if it is not sent for that operation.
   */
  readonly planned?: Receipt;
  /** Whether it is on the receipt of an operation that does not wait for it. */
  readonly isPaid?: boolean;
  readonly urgency?: () => number;
  /** Whether it is still useful although no caller waits for it. */
  readonly isWanted?: () => boolean;
  /** See `SlotRequest.lengthy`. */
  readonly lengthy?: boolean;
}

/**
 * All callers that wait for the response to one request, and its place in the queue. If a caller leaves, the others
 * continue to wait.
 */
export class Waiters<T> implements SlotRequest {
  lane: Lane;
  caller: string;
  readonly urgency: () => number;
  readonly lengthy: boolean;
  readonly resource: string;
  readonly #options: WaitersOptions;
  readonly #waiters = new Set<Waiter<T>>();
  #state: 'new' | 'queued' | 'sending' | 'done' = 'new';
  /** The receipt that the request is on while it is sent, and the receipt of its first attempt. */
  #sender: Receipt | undefined;
  #payer: Receipt | undefined;
  /** Whether its first attempt is on the receipt of an operation that does not wait for it. */
  #isPaid: boolean;
  readonly #openedAt: number;
  #queuedAt: number;
  /** Whether the latest event said that it waits in its lane. */
  #isEmittedAsQueued = false;
  /** Whether it is sent without a waiting caller, for later ones. */
  #goesOn = false;

  constructor(options: WaitersOptions) {
    this.#options = options;
    this.#openedAt = options.clock.now();
    this.#queuedAt = this.#openedAt;
    this.lane = options.lane;
    this.caller = options.caller;
    this.resource = options.resource;
    this.urgency = options.urgency ?? (() => 0);
    this.lengthy = options.lengthy ?? false;
    this.#isPaid = options.isPaid ?? false;
  }

  /** Whether it certainly has no further result. */
  get done(): boolean {
    return this.#state === 'done';
  }

  /** Whether it is sent only for jobs. */
  get isForJobs(): boolean {
    return this.lane === 'bulk' && [...this.#waiters].every(({ caller }) => caller.bulk);
  }

  /** Milliseconds since it was created. */
  get ageMs(): number {
    return this.#options.clock.now() - this.#openedAt;
  }

  /**
   * Waits for a slot; `null` when no caller needs it any more. It is in its lane when this returns. After a turn without
   * a result, it is called again, and the request goes before all others.
   */
  async turn(): Promise<Slot | null> {
    if (this.done) return null;
    const slot = await this.#enqueue();
    if (!slot) return null;
    // A slot that is granted immediately is taken before this continues.
    if (this.#state === 'queued') this.#hasTurn();
    return this.leaveIfUnwanted(slot) ? null : slot;
  }

  /** Whether a caller still waits for it, or it is sent anyway. */
  get isWanted(): boolean {
    return this.#waiters.size > 0 || this.#leavesAnyway;
  }

  /** Returns its slot, and is done, if it is unwanted; returns whether it did. */
  leaveIfUnwanted(slot: Slot): boolean {
    if (this.isWanted) return false;
    slot.release();
    this.#finish();
    return true;
  }

  #enqueue(): AtOnce<Slot | null> {
    const { budget, clock } = this.#options;
    const again = this.#state !== 'new';
    this.#state = 'queued';
    if (again) this.#queuedAt = clock.now();
    const turn = budget.turn(this, again);
    if (!(turn instanceof Promise)) this.#hasTurn();
    else if (again) this.accepts(budget.estimateOf(this));
    else this.#emitQueue();
    return turn;
  }

  get operation(): string | null {
    return this.#first?.asker?.operation ?? null;
  }

  get waitedMs(): number {
    return this.#options.clock.now() - this.#queuedAt;
  }

  /** The operation for which it is sent, if a caller waits. */
  get #first(): Receipt | undefined {
    return this.#waiters.values().next().value?.caller.receipt;
  }

  /**
   * Records that it is sent, under the name `key` on the receipt of the first waiting caller, unless it is on one.
   * Returns the reason; `renews` if an older response is known.
   */
  leaves(key: string, renews: boolean): Departing {
    const { caller, lane } = this;
    const operation = this.#first;
    this.#sender = this.#isPaid ? undefined : operation;
    this.#sender?.sent(this.#options.upstream, key);
    const charged = lane === 'refresh' ? null : nameWithoutClass(caller);
    const callerClass = lane === 'refresh' ? null : classOf(caller);
    const asker = operation?.asker ?? null;
    const sharedWith = (): Asker[] => this.#askersBeside(asker);
    return { operation, asker, sharedWith, caller: charged, callerClass, lane, renews };
  }

  /** The operations whose callers wait, each once, without one of them. */
  #askersBeside(sentFor: Asker | null): Asker[] {
    const askers = new Set<Asker>();
    for (const { caller } of this.#waiters) {
      if (caller.receipt.asker) askers.add(caller.receipt.asker);
    }
    if (sentFor) askers.delete(sentFor);
    return [...askers];
  }

  /** It was not sent. */
  stays(key: string): void {
    this.#sender?.notSent(this.#options.upstream, key);
  }

  /** The sent request has its response, or failed. */
  answered(): void {
    this.#payer ??= this.#sender;
    this.#isPaid = false;
  }

  /** Emits whether it waits. A request with an immediate slot has never waited. */
  #emitQueue(): void {
    const isQueued = this.#state === 'queued';
    if (isQueued === this.#isEmittedAsQueued) return;
    this.#isEmittedAsQueued = isQueued;
    const { events, upstream } = this.#options;
    events?.emit('queue', { upstream, change: isQueued ? 1 : -1 });
  }

  /**
   * Waits for the response until a caller's deadline; a job has none. A caller whose turn comes sooner moves the
   * request forward, while it waits: not one whose reads take only slots that are left. One with a fallback leaves
   * after `fallbackMs` milliseconds, and the request continues.
   * @throws FallbackWillDo when it leaves for its fallback.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED` as soon as its turn is known to be too late.
   * @throws the caller's abort reason, when they disconnect.
   */
  wait(caller: Caller, fallbackMs?: number): Promise<T> {
    const { signal } = caller;
    if (signal.aborted) {
      this.cancelIfUnwanted();
      return Promise.reject(signal.reason as Error);
    }
    const { budget, clock } = this.#options;
    const waiter: Waiter<T> = new Waiter(caller, clock, () => this.#leave(waiter, signal.reason));
    if (fallbackMs !== undefined) {
      waiter.fallBackIn(fallbackMs, () => {
        this.#goesOn = true;
        this.#leave(waiter, new FallbackWillDo());
        if (this.#state !== 'queued' || this.#waiters.size > 0 || this.#isPaid) return;
        // It is sent when nobody waits for it.
        this.#isPaid = true;
        caller.receipt.refreshing(1);
      });
    }
    this.#waiters.add(waiter);
    if (this.#isPromotable && !this.#isOfBulk(waiter)) budget.promote(this, namedInBudget(caller));
    if (this.#state !== 'queued') return waiter.answer;
    const { patienceMs } = waiter;
    this.#beginWaiting(waiter, this.#estimateFor(waiter), patienceMs);
    return waiter.answer;
  }

  /** Whether the reads of a caller are in the lane `bulk`. */
  #isOfBulk({ caller }: Waiter<T>): boolean {
    return waitsAs(caller, 'interactive', this.#options.budget).lane === 'bulk';
  }

  /** Milliseconds until it is sent. No time is known for a refresh: a caller who does not promote it expects its own turn. */
  #estimateFor(waiter: Waiter<T>): number {
    const { budget } = this.#options;
    const isOwn = this.lane !== 'refresh' || waiter.caller.bulk;
    if (isOwn) return budget.estimateOf(this);
    return budget.estimate('interactive', namedInBudget(waiter.caller));
  }

  /** After its turn, only one without a caller that is in a hurry is promoted, because it may have to be sent again. */
  get #isPromotable(): boolean {
    const isInHurry = this.lane === 'write' || this.lane === 'interactive';
    return this.#state === 'queued' ? this.lane !== 'write' : !isInHurry;
  }

  /** No caller waits for its turn any more. */
  #hasTurn(): void {
    if (this.#state !== 'queued') return;
    this.#state = 'sending';
    this.#emitQueue();
    for (const waiter of this.#waiters) waiter.endQueue();
    const { clock, events, upstream } = this.#options;
    events?.emit('waited', { upstream, lane: this.lane, ms: clock.now() - this.#queuedAt });
  }

  /** Gives the result to all callers that still wait. */
  end(outcome: Outcome<T>): void {
    const waiters = [...this.#waiters];
    this.#finish();
    for (const waiter of waiters) waiter.settle(outcome);
  }

  accepts(estimateMs: number): boolean {
    this.#emitQueue();
    for (const waiter of this.#waiters) {
      if (!waiter.isQueued) this.#beginWaiting(waiter, estimateMs);
      else this.#leaveIfTooLate(waiter, estimateMs);
    }
    if (this.#options.budget.turnsAway(this, estimateMs)) this.#goesOn = false;
    this.cancelIfUnwanted();
    return this.#state === 'queued';
  }

  #beginWaiting(waiter: Waiter<T>, estimateMs: number, patienceMs = waiter.patienceMs): void {
    if (this.#leaveIfTooLate(waiter, estimateMs, patienceMs)) return;
    waiter.beginQueue(patienceMs, () => this.#giveUp(waiter));
  }

  #leaveIfTooLate(waiter: Waiter<T>, estimateMs: number, patienceMs = waiter.patienceMs): boolean {
    const isTurnedAway = this.#options.budget.turnsAway(this, estimateMs);
    if (estimateMs <= patienceMs && !isTurnedAway) return false;
    this.#leave(waiter, this.#exhausted(estimateMs, waiter));
    return true;
  }

  /** The turn is later than estimated. */
  #giveUp(waiter: Waiter<T>): void {
    const { budget } = this.#options;
    if (!this.#waiters.delete(waiter)) return;
    waiter.endQueue();
    this.#yield();
    const isQueued = this.#state === 'queued';
    const estimateMs = isQueued
      ? this.#estimateFor(waiter)
      : budget.estimate(
          this.lane === 'write' ? 'write' : 'interactive',
          namedInBudget(waiter.caller),
        );
    waiter.settle({ error: this.#exhausted(estimateMs, waiter) });
  }

  #leave(waiter: Waiter<T>, reason: unknown): void {
    if (!this.#waiters.delete(waiter)) return;
    waiter.settle({ error: reason });
    this.#yield();
  }

  /**
   * A caller has left: without callers it is removed. A read that now is only for callers whose reads take slots that are
   * left does so too, and is charged to one of them.
   */
  #yield(): void {
    this.cancelIfUnwanted();
    const waiters = [...this.#waiters];
    const [first] = waiters;
    const isMovable = this.lane === 'interactive' || this.lane === 'bulk';
    if (!first || this.#state !== 'queued' || !isMovable || this.#goesOn) return;
    if (!waiters.every((waiter) => this.#isOfBulk(waiter))) return;
    const isCharged = ({ caller }: Waiter<T>): boolean => namedInBudget(caller) === this.caller;
    if (this.lane === 'bulk' && waiters.some(isCharged)) return;
    const { budget } = this.#options;
    budget.demote(this, namedInBudget(first.caller));
    if (this.#state === 'queued') this.accepts(budget.estimateOf(this));
  }

  /** Whether it is sent although no caller waits. */
  get #leavesAnyway(): boolean {
    return (this.#goesOn || this.lane === 'refresh') && (this.#options.isWanted?.() ?? true);
  }

  /** Removes it from its lane if no caller waits and later callers cannot use it. */
  cancelIfUnwanted(): void {
    if (this.#waiters.size > 0 || this.#state !== 'queued' || this.#leavesAnyway) return;
    if (this.#options.budget.cancel(this)) this.#finish();
  }

  #finish(): void {
    this.#state = 'done';
    this.#emitQueue();
    for (const waiter of this.#waiters) waiter.endQueue();
    this.#waiters.clear();
    const { planned, upstream } = this.#options;
    if (this.#payer !== planned) planned?.spending.giveBack(upstream);
  }

  #exhausted(estimateMs: number, { caller, patienceMs }: Waiter<T>): BudgetExhausted {
    const { budget, clock, upstream } = this.#options;
    const retryAfterMs = Math.max(1, Math.ceil(estimateMs));
    const wall = clock.wall();
    const availableAt = new Date(wall + retryAfterMs);
    const quota = budget.quotaOf(namedInBudget(caller));
    const isAway = budget.turnsAway(this, estimateMs);
    if (!quota?.waitMs || isAway) {
      const reason = isAway ? 'stopping' : budget.exhaustedBy(patienceMs);
      return new BudgetExhausted(upstream, retryAfterMs, availableAt, reason);
    }
    const { limit, waitMs } = quota;
    const name = classOf(namedInBudget(caller));
    const api = upstreamTitle[upstream].replace('The', 'the');
    const sentence = `The class ${name} has used its ${limit} requests per minute to ${api}.`;
    const resetAt = new Date(wall + Math.ceil(waitMs)).toISOString();
    return new BudgetExhausted(upstream, retryAfterMs, availableAt, 'class', {
      sentence,
      quota: { class: name, limit, resetAt },
    });
  }
}
