import { setMaxListeners } from 'node:events';
import { BudgetExhausted, type UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Budget, Sharing, SlotRequest, Turn } from '../budget/budget.ts';
import type { Lane } from '../budget/law/document.ts';
import { FallbackWillDo } from '../fallback.ts';
import type { Caller } from '../operation.ts';
import type { Receipt } from '../receipt.ts';
import type { Departing } from '../wire/observed-exchange.ts';

/** An answer, or that there is none. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** What all requests to an upstream have in common. */
export interface WaitersWorld {
  readonly upstream: UpstreamName;
  readonly clock: Clock;
  readonly events: EventStream | undefined;
}

/** What a request is about, and whose it is. */
interface WaitersOptions extends WaitersWorld {
  readonly budget: Budget;
  readonly lane: Lane;
  /** Whom the slot is charged to. */
  readonly caller: string;
  /** What it is about, e.g. `channels`. */
  readonly resource: string;
  /** Whose operation has set a call aside for it; given back when it does not leave for that one. */
  readonly planned?: Receipt;
  readonly urgency?: () => number;
  /** Whether a refresh is still of use, though no caller waits for it. */
  readonly isWanted?: () => boolean;
  /** See `SlotRequest.lengthy`. */
  readonly lengthy?: boolean;
  /** What other replicas have to know of it. */
  readonly sharing?: Sharing | undefined;
}

/** A caller that waits for the answer. */
interface Waiter<T> {
  readonly caller: Caller;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
  /** Ends the watch over their patience. */
  cancelTimer: () => void;
  /** Whether the time until its turn counts on their receipt. */
  waiting: boolean;
}

/** How much longer a waiter is prepared to wait for a turn, in milliseconds. */
function patienceOf({ caller }: { readonly caller: Caller }): number {
  return Math.max(0, caller.maxWaitMs - caller.receipt.waitedMs);
}

/**
 * Everybody who waits for the answer to one request, and its place in the queue. Each waiter has a patience and a
 * signal of their own, and leaving never disturbs the others.
 */
export class Waiters<T> implements SlotRequest {
  lane: Lane;
  caller: string;
  readonly urgency: () => number;
  readonly lengthy: boolean;
  readonly resource: string;
  readonly sharing: Sharing | undefined;
  readonly #options: WaitersOptions;
  readonly #waiters = new Set<Waiter<T>>();
  #state: 'new' | 'queued' | 'sending' | 'done' = 'new';
  /** Whose receipt it is on while it is sent, and whose its first request was on. */
  #sender: Receipt | undefined;
  #payer: Receipt | undefined;
  readonly #openedAt: number;
  #queuedAt: number;
  #sentAt = Number.POSITIVE_INFINITY;
  /** Whether it was emitted that it waits in its lane. */
  #isToldToWait = false;
  /** Whether it is sent although no caller waits, for those who come later. */
  #goesOn = false;
  /** Whether another replica's answer was of no use: it wants a request of its own. */
  #isAlone = false;
  #tellSettled = (): void => {};
  /** Resolves after it is `done`. */
  readonly settled = new Promise<void>((resolve) => {
    this.#tellSettled = resolve;
  });

  constructor(options: WaitersOptions) {
    this.#options = options;
    this.#openedAt = options.clock.now();
    this.#queuedAt = this.#openedAt;
    this.lane = options.lane;
    this.caller = options.caller;
    this.resource = options.resource;
    this.urgency = options.urgency ?? (() => 0);
    this.lengthy = options.lengthy ?? false;
    const { sharing } = options;
    const newerThan = (): number => (this.#isAlone ? Infinity : (sharing?.newerThan?.() ?? 0));
    this.sharing = sharing && { ...sharing, newerThan };
  }

  /** Whether it is certain that nothing more comes of it. */
  get done(): boolean {
    return this.#state === 'done';
  }

  get #queued(): boolean {
    return this.#state === 'queued';
  }

  /** Milliseconds since it was asked for. */
  get ageMs(): number {
    return this.#options.clock.now() - this.#openedAt;
  }

  /** Milliseconds since it left; 0 before. */
  get underWayMs(): number {
    return Math.max(0, this.#options.clock.now() - this.#sentAt);
  }

  /**
   * Waits for a slot to send it in, or for the end of another replica's request for the same; `null` once no caller wants
   * it any more. It is in its lane when this returns; asked again after a turn in vain, it goes before all others.
   */
  async turn(): Promise<Extract<Turn, { kind: 'slot' | 'landed' }> | null> {
    let turn = await this.#enqueue();
    if (turn.kind === 'elsewhere') {
      this.#hasTurn();
      turn = await turn.next;
    }
    if (turn.kind === 'landed') {
      this.#isAlone ||= turn.result?.kind === 'shared';
      this.#hasTurn();
      return turn;
    }
    if (turn.kind !== 'slot') return null;
    this.#hasTurn();
    if (this.isWaitedFor || this.#leavesAnyway) return turn;
    turn.release();
    this.#finish();
    return null;
  }

  #enqueue(): AtOnce<Turn> {
    const { budget, clock } = this.#options;
    const again = this.#state !== 'new';
    this.#state = 'queued';
    if (again) this.#queuedAt = clock.now();
    const turn = budget.turn(this, again);
    if (!(turn instanceof Promise)) this.#hasTurn();
    else if (again) this.accepts(budget.estimateOf(this));
    else this.#tellQueue();
    return turn;
  }

  get operation(): string | null {
    return this.#first?.asker?.operation ?? null;
  }

  get waitedMs(): number {
    return this.#options.clock.now() - this.#queuedAt;
  }

  /** Whose operation it leaves for, if a caller waits. */
  get #first(): Receipt | undefined {
    return this.#waiters.values().next().value?.caller.receipt;
  }

  /** Whether a caller waits for the answer. */
  get isWaitedFor(): boolean {
    return this.#waiters.size > 0;
  }

  /** Why it leaves now; `renews` where an older answer is known. */
  departing(renews: boolean): Departing {
    const { caller, lane } = this;
    const operation = this.#sender;
    const charged = lane === 'refresh' ? null : caller;
    return { operation, asker: operation?.asker ?? null, caller: charged, lane, renews };
  }

  /** It leaves now, on the receipt of the caller that waits first; `key` names it there. */
  leaves(key: string): void {
    this.#sender = this.#first;
    this.#sender?.sent(this.#options.upstream, key);
  }

  /** It did not leave after all. */
  stays(key: string): void {
    this.#sender?.notSent(this.#options.upstream, key);
  }

  /** What has left was answered, or failed. */
  answered(): void {
    this.#payer ??= this.#sender;
  }

  /** Emits whether it waits. What gets its slot at once never did. */
  #tellQueue(): void {
    if (this.#queued === this.#isToldToWait) return;
    this.#isToldToWait = this.#queued;
    const { events, upstream } = this.#options;
    events?.emit('queue', { upstream, change: this.#queued ? 1 : -1 });
  }

  /**
   * Waits for the answer with a caller's patience. A caller whose turn comes sooner brings it forward. One
   * with a fallback leaves after `fallbackMs` milliseconds, and the request goes on.
   * @throws FallbackWillDo when it leaves for its fallback.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED` as soon as it is known that it will leave too late.
   * @throws the caller's abort reason, when they hang up.
   */
  wait(caller: Caller, fallbackMs?: number): Promise<T> {
    const { receipt, signal } = caller;
    if (signal.aborted) {
      this.cancelIfUnwanted();
      return Promise.reject(signal.reason as Error);
    }
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => this.#leave(waiter, signal.reason);
      const cancelFallback =
        fallbackMs === undefined ? null : this.#leaveIn(fallbackMs, () => waiter);
      if (cancelFallback) receipt.withFallback.begin();
      const deaf = (): void => {
        signal.removeEventListener('abort', onAbort);
        cancelFallback?.();
        if (cancelFallback) receipt.withFallback.end();
      };
      const waiter: Waiter<T> = {
        caller,
        resolve: (value) => {
          deaf();
          resolve(value);
        },
        reject: (error) => {
          deaf();
          reject(error);
        },
        cancelTimer: () => {},
        waiting: false,
      };
      // An operation listens once for each of its reads, which is no leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      const { budget } = this.#options;
      if (this.lane !== 'write') budget.promote(this, caller.name);
      if (this.#queued && patienceOf(waiter) === 0) budget.sendNow(this);
      if (this.#queued) this.#beginWaiting(waiter, budget.estimateOf(this));
    });
  }

  /** No caller waits for its turn any more. */
  #hasTurn(): void {
    if (!this.#queued) return;
    this.#state = 'sending';
    for (const waiter of this.#waiters) this.#endWaiting(waiter);
    const { clock, events, upstream } = this.#options;
    const now = clock.now();
    this.#sentAt = now;
    events?.emit('waited', { upstream, lane: this.lane, ms: now - this.#queuedAt });
    this.#tellQueue();
  }

  /** Gives those who still wait what they waited for. */
  end(outcome: Outcome<T>): void {
    const waiters = [...this.#waiters];
    this.#finish();
    for (const waiter of waiters) {
      if ('value' in outcome) waiter.resolve(outcome.value);
      else waiter.reject(outcome.error);
    }
  }

  accepts(estimateMs: number): boolean {
    this.#tellQueue();
    for (const waiter of this.#waiters) {
      if (!waiter.waiting) this.#beginWaiting(waiter, estimateMs);
      else this.#leaveIfTooLate(waiter, estimateMs);
    }
    if (this.#options.budget.turnsAway(this, estimateMs)) this.#goesOn = false;
    this.cancelIfUnwanted();
    return this.#queued;
  }

  #beginWaiting(waiter: Waiter<T>, estimateMs: number): void {
    if (this.#leaveIfTooLate(waiter, estimateMs)) return;
    // Whoever does not want to wait still learns whether a slot is free.
    const patienceMs = Math.max(patienceOf(waiter), this.#options.budget.answersInMs);
    waiter.waiting = true;
    waiter.caller.receipt.waitBegins();
    waiter.cancelTimer = this.#options.clock.after(patienceMs, () => this.#giveUp(waiter));
  }

  #leaveIfTooLate(waiter: Waiter<T>, estimateMs: number): boolean {
    const isTurnedAway = this.#options.budget.turnsAway(this, estimateMs);
    if (estimateMs <= patienceOf(waiter) && !isTurnedAway) return false;
    this.#leave(waiter, this.#exhausted(estimateMs));
    return true;
  }

  /** The turn came later than it was estimated, or not yet. */
  #giveUp(waiter: Waiter<T>): void {
    const { budget } = this.#options;
    if (!this.#waiters.delete(waiter)) return;
    this.#endWaiting(waiter);
    this.cancelIfUnwanted();
    const estimateMs = this.#queued
      ? budget.estimateOf(this)
      : budget.estimate(this.lane === 'write' ? 'write' : 'interactive', waiter.caller.name);
    waiter.reject(this.#exhausted(estimateMs));
  }

  /** Lets a waiter leave for its fallback after a while; returns what keeps it from that. */
  #leaveIn(ms: number, waiter: () => Waiter<T>): () => void {
    return this.#options.clock.after(ms, () => {
      this.#goesOn = true;
      this.#leave(waiter(), new FallbackWillDo());
    });
  }

  #endWaiting(waiter: Waiter<T>): void {
    waiter.cancelTimer();
    if (waiter.waiting) waiter.caller.receipt.waitEnds();
    waiter.waiting = false;
  }

  #leave(waiter: Waiter<T>, reason: unknown): void {
    if (!this.#waiters.delete(waiter)) return;
    this.#endWaiting(waiter);
    waiter.reject(reason);
    this.cancelIfUnwanted();
  }

  /** Whether it is sent although no caller waits. */
  get #leavesAnyway(): boolean {
    if (this.#goesOn) return true;
    return this.lane === 'refresh' && (this.#options.isWanted?.() ?? true);
  }

  /** Takes it out of its lane if no caller waits and it is of no use to those who come later. */
  cancelIfUnwanted(): void {
    if (this.#waiters.size > 0 || this.#state !== 'queued' || this.#leavesAnyway) return;
    if (this.#options.budget.cancel(this)) this.#finish();
  }

  #finish(): void {
    this.#state = 'done';
    this.#tellQueue();
    for (const waiter of this.#waiters) this.#endWaiting(waiter);
    this.#waiters.clear();
    const { planned, upstream } = this.#options;
    if (this.#payer !== planned) planned?.spending.giveBack(upstream);
    this.#tellSettled();
  }

  #exhausted(estimateMs: number): BudgetExhausted {
    const retryAfterMs = Math.max(1, Math.ceil(estimateMs));
    const availableAt = new Date(this.#options.clock.wall() + retryAfterMs);
    return new BudgetExhausted(this.#options.upstream, retryAfterMs, availableAt);
  }
}
