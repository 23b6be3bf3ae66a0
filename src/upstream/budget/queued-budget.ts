import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Budget, Slot, SlotRequest } from './budget.ts';
import { BudgetQueue } from './budget-queue.ts';
import type { Lane } from './law/document.ts';

/** Tolerance for rounding errors of times, so that they do not cost a whole millisecond. */
const ROUNDED_MS = 1e-6;

/**
 * The budget of a key: on each change, it claims slots of its store for the first waiting requests, until the
 * store says when to claim again.
 */
export class QueuedBudget extends BudgetQueue implements Budget {
  /** How waiting requests receive their slots, or `null`. */
  readonly #turns = new Map<SlotRequest, (slot: Slot | null) => void>();
  readonly #rushing = new Set<SlotRequest>();
  /** Earliest time of the next claim, on `clock.now()`. */
  #claimAt = Number.NEGATIVE_INFINITY;
  #cancelWake: (() => void) | null = null;
  /** Whether slots were returned in this turn, and whether one was returned after a refusal. */
  #pumpsSoon = false;
  #informsSoon = false;

  turn(request: SlotRequest, again = false): AtOnce<Slot | null> {
    let granted: Slot | null = null;
    let grant = (slot: Slot | null): void => {
      granted = slot;
    };
    this.#turns.set(request, (slot) => grant(slot));
    this.lanes.add(request, again);
    this.#claimNow();
    return (
      granted ??
      new Promise<Slot | null>((resolve) => {
        grant = resolve;
      })
    );
  }

  override estimateOf(request: SlotRequest): number {
    return this.#turns.has(request) ? super.estimateOf(request) : 0;
  }

  cancel(request: SlotRequest): boolean {
    if (!this.lanes.remove(request)) return false;
    this.#grant(request, null);
    return true;
  }

  promote(request: SlotRequest, caller: string): void {
    if (request.lane === 'write' || request.lane === 'interactive') {
      if (request.caller === caller || !this.#turns.has(request)) return;
      if (this.estimate('interactive', caller) >= this.estimateOf(request)) return;
    }
    this.#move(request, 'interactive', caller);
  }

  demote(request: SlotRequest, caller: string): void {
    this.#move(request, 'bulk', caller);
  }

  #move(request: SlotRequest, lane: Lane, caller: string): void {
    const waits = this.lanes.remove(request);
    request.lane = lane;
    request.caller = caller;
    if (!waits) return;
    this.lanes.add(request);
    this.#claimNow();
  }

  sendNow(request: SlotRequest): void {
    if (!this.#turns.has(request)) return;
    this.#rushing.add(request);
    this.#claimNow();
  }

  /** Slots were returned, with or without a refusal. */
  readonly #freed = (refused: boolean): void => {
    // A request that needs another turn in this run is part of the same claim as the others.
    this.#claimAt = Number.NEGATIVE_INFINITY;
    this.#pumpSoon(refused);
  };

  #claimNow(): void {
    this.#claimAt = Number.NEGATIVE_INFINITY;
    this.#pump();
  }

  /**
   * Pumps after the request that has returned a slot has requested another turn, so that this turn is the next. After
   * a refusal, waiting requests are informed of the pause first.
   */
  #pumpSoon(informs: boolean): void {
    this.#informsSoon ||= informs;
    if (this.#pumpsSoon) return;
    this.#pumpsSoon = true;
    queueMicrotask(() => {
      const informsNow = this.#informsSoon;
      this.#pumpsSoon = false;
      this.#informsSoon = false;
      if (informsNow) this.tellDelay();
      this.#pump();
    });
  }

  /** Claims while this has immediate results, and schedules the next call. */
  #pump(): void {
    while (!this.#sleeps()) {
      const options = { drains: this.drainedAt !== null, rushing: this.#rushing };
      const { againAt, taken } = this.store.claim(this.lanes, options, this.#freed);
      this.#claimAt = againAt;
      for (const { request, slot } of taken) {
        this.noteUse(slot.id, request);
        this.#grant(request, slot);
      }
    }
  }

  /** Whether no claim is possible now; sets the alarm for the next one. */
  #sleeps(): boolean {
    this.#cancelWake?.();
    this.#cancelWake = null;
    const { waiting } = this.lanes;
    const mayLeave =
      waiting > 0 && this.drainedAt !== null
        ? waiting - this.lanes.size('refresh') - this.lanes.size('bulk')
        : waiting;
    const at = mayLeave > 0 ? this.#claimAt : Number.POSITIVE_INFINITY;
    if (at === Number.NEGATIVE_INFINITY) return false;
    if (at === Number.POSITIVE_INFINITY) return true;
    const ms = at - this.clock.now();
    if (ms <= 0) return false;
    this.#cancelWake = this.clock.after(Math.max(1, Math.ceil(ms - ROUNDED_MS)), () => {
      if (this.#claimAt <= at) this.#claimAt = Number.NEGATIVE_INFINITY;
      this.#pump();
    });
    return true;
  }

  /** Resolves the turn of a request that no longer waits in a lane. */
  #grant(request: SlotRequest, slot: Slot | null): void {
    const grant = this.#turns.get(request);
    this.#turns.delete(request);
    this.#rushing.delete(request);
    grant?.(slot);
  }
}
