import { setMaxListeners } from 'node:events';
import { type AtOnce, inBackground } from '../../at-once.ts';
import { BudgetExhausted } from '../../errors.ts';
import type { SharedResult, Sharing, Slot, SlotRequest, Turn } from '../budget/budget.ts';
import type { Lane } from '../budget/lanes.ts';
import type { Caller } from '../operation.ts';
import type { Receipt } from '../receipt.ts';
import type { Departing } from '../wire/observed-exchange.ts';
import { type Attempt, type Outcome, unforeseen } from './attempt.ts';
import type { SharedRequestOptions } from './shared-request-options.ts';
import { patienceOf, type Waiter } from './waiter.ts';

/** Tells a waiter with a copy at hand that it has waited long enough; the request goes on without it. */
export class CopyWillDo extends Error {
  override readonly name = 'CopyWillDo';
}

/**
 * One request, and everybody who waits for its answer. It leaves when the budget gives it a slot, if
 * anybody still waits; each waiter has a patience and a signal of their own, and leaving never disturbs
 * the others.
 */
export class SharedRequest<T> implements SlotRequest {
  lane: Lane;
  caller: string;
  readonly urgency: () => number;
  readonly lengthy: boolean;
  readonly resource: string;
  readonly sharing: Sharing | undefined;
  readonly #options: SharedRequestOptions<T>;
  readonly #waiters = new Set<Waiter<T>>();
  #state: 'queued' | 'sending' | 'done' = 'queued';
  /** Whose receipt its first request is on. */
  #payer: Receipt | undefined;
  #queuedAt = 0;
  #openedAt = 0;
  #sentAt = Number.POSITIVE_INFINITY;
  /** Whether it was emitted that it waits in its lane. */
  #isToldToWait = false;
  /** Whether it is sent although nobody waits, for those who come later. */
  #goesOn = false;
  /** Whether another replica's answer was of no use: it wants a request of its own. */
  #isAlone = false;
  #tellSettled = (): void => {};
  /** Resolves after it is `done`. */
  readonly settled = new Promise<void>((resolve) => {
    this.#tellSettled = resolve;
  });

  constructor(options: SharedRequestOptions<T>) {
    this.#options = options;
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

  /** Puts the request into its lane. */
  enqueue(): void {
    this.#openedAt = this.#options.clock.now();
    this.#queuedAt = this.#openedAt;
    const turn = this.#options.budget.turn(this);
    if (turn instanceof Promise) this.#tellQueue();
    else this.#hasTurn();
    inBackground(this.#run(turn));
  }

  /** Takes turns until one brings an answer, or nobody wants it any more. Whoever waits has joined before the first. */
  async #run(first: AtOnce<Turn>): Promise<void> {
    for (let turn = await first; turn.kind !== 'cancelled'; ) {
      if (this.#queued) this.#hasTurn();
      if (turn.kind === 'elsewhere') turn = await turn.next;
      else {
        const isOver = await (turn.kind === 'slot' ? this.#send(turn) : this.#landed(turn.result));
        if (isOver) return;
        turn = await this.#turnAgain();
      }
    }
  }

  #turnAgain(): AtOnce<Turn> {
    const { budget, clock } = this.#options;
    this.#state = 'queued';
    this.#queuedAt = clock.now();
    const turn = budget.turn(this, true);
    if (turn instanceof Promise) this.accepts(budget.estimateOf(this));
    return turn;
  }

  get operation(): string | null {
    return this.#first?.receipt.asker?.operation ?? null;
  }

  get waitedMs(): number {
    return this.#options.clock.now() - this.#queuedAt;
  }

  /** Whose operation it leaves for, if anybody waits. */
  get #first(): Caller | undefined {
    return this.#waiters.values().next().value?.caller;
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
   * with a copy at hand leaves after `copyMs` milliseconds, and the request goes on.
   * @throws CopyWillDo when it leaves for its copy.
   * @throws BudgetExhausted `BUDGET_EXHAUSTED` as soon as it is known that it will leave too late.
   * @throws the caller's abort reason, when they hang up.
   */
  wait(caller: Caller, copyMs?: number): Promise<T> {
    const { receipt, signal } = caller;
    if (signal.aborted) {
      this.cancelIfUnwanted();
      return Promise.reject(signal.reason as Error);
    }
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => this.#leave(waiter, signal.reason);
      const cancelCopy = copyMs === undefined ? null : this.#leaveIn(copyMs, () => waiter);
      if (cancelCopy) receipt.withCopy.begin();
      const deaf = (): void => {
        signal.removeEventListener('abort', onAbort);
        cancelCopy?.();
        if (cancelCopy) receipt.withCopy.end();
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

  #hasTurn(): void {
    this.#state = 'sending';
    for (const waiter of this.#waiters) this.#endWaiting(waiter);
    const { clock, events, upstream } = this.#options;
    this.#sentAt = clock.now();
    events?.emit('waited', { upstream, lane: this.lane, ms: clock.now() - this.#queuedAt });
    if (this.#isToldToWait) this.#tellQueue();
  }

  /** Sends it in a slot; false when it goes again. */
  async #send(slot: Slot): Promise<boolean> {
    for (;;) {
      const payer = this.#first?.receipt;
      if (!payer && !this.#leavesAnyway) {
        slot.release();
        this.#finish();
        return true;
      }
      const attempt = await this.#options
        .attempt(payer, this.#departing(payer), slot)
        .catch(unforeseen);
      if (attempt.kind !== 'unsent' && attempt.kind !== 'late') this.#payer ??= payer;
      // Whoever came to wait for a refresh that was not needed any more gets it sent.
      const wanted = attempt.kind === 'unsent' && !('error' in attempt) && this.#waiters.size > 0;
      if (!wanted) return this.#settle(attempt, slot);
    }
  }

  #departing(operation: Receipt | undefined): Departing {
    const { caller, lane } = this;
    const charged = lane === 'refresh' ? null : caller;
    return { operation, asker: operation?.asker ?? null, caller: charged, lane, renews: false };
  }

  /** Ends the slot, and tells those who wait what they get; false when it goes again. */
  #settle(attempt: Attempt<T>, slot: Slot): boolean {
    if (attempt.kind === 'late' || attempt.kind === 'unsent') slot.release();
    else slot.end(attempt.feedback, 'result' in attempt ? attempt.result : undefined);
    if (attempt.kind === 'refused' || attempt.kind === 'again') return false;
    if (attempt.kind === 'late') return false;
    const ended: Outcome<T> =
      attempt.kind === 'value' ? { value: attempt.value } : { error: attempt.error };
    if ('settled' in attempt && attempt.settled) {
      inBackground(attempt.settled.finally(() => this.#end(ended)));
    } else this.#end(ended);
    return true;
  }

  /** Another replica's request has ended: whether that is the end of this one. */
  async #landed(result: SharedResult | null): Promise<boolean> {
    const ended = result && (await this.#options.elsewhere?.(result));
    if (ended && !this.done) this.#end(ended);
    this.#isAlone ||= result?.kind === 'shared';
    return this.done;
  }

  /** Tells those who still wait. */
  #end(ended: Outcome<T>): void {
    const waiters = [...this.#waiters];
    this.#finish();
    for (const waiter of waiters) {
      if ('value' in ended) waiter.resolve(ended.value);
      else waiter.reject(ended.error);
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

  /** Sees to it that a waiter leaves for its copy; answers with what keeps it. */
  #leaveIn(ms: number, waiter: () => Waiter<T>): () => void {
    return this.#options.clock.after(ms, () => {
      this.#goesOn = true;
      this.#leave(waiter(), new CopyWillDo());
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

  /** Whether it is sent although nobody waits. */
  get #leavesAnyway(): boolean {
    if (this.#goesOn) return true;
    return this.lane === 'refresh' && (this.#options.isWanted?.() ?? true);
  }

  /** Takes it out of its lane if nobody waits and it is of no use to those who come later. */
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
