import { createDigest } from '../../digest.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Budget, BudgetWatch, Slot, SlotRequest } from './budget.ts';
import type { Journal } from './journal/journal.ts';
import type { BudgetView } from './law/availability.ts';
import { type ClaimResult, claimSlots, type Stop, stopOf, type WantedSlot } from './law/claim.ts';
import type { KeyBudget, Lane } from './law/document.ts';
import { cancelSlot, endSlot } from './law/ended.ts';
import { onWire } from './law/slots.ts';
import { QueuedBudget } from './queued-budget.ts';
import { MemoryStore } from './store.ts';

/** One upstream's limit for each of its keys. */
export interface KeyLimits {
  /** Requests per window and key. */
  readonly rateLimit: number;
  readonly rateWindowMs: number;
  /** How long a request may take. */
  readonly timeoutMs: number;
  /** Tells a key of this installation from the same key of another. */
  readonly baseUrl: string;
}

/** Names keys in the journal: the same in every process. Who knows a name finds no key by it. */
const nameInJournal = createDigest('the journal of leases');

/** Requests that are claimed for at a time. */
const MOST_WANTS = 12;
/** The one owner of slots here. */
const SELF = 'self';

/**
 * Makes the budgets of keys that this process has to itself; `journal` remembers each across processes, and
 * `watch` is told of what befalls them.
 */
export function processBudgets(
  clock: Clock,
  { baseUrl, rateLimit: limit, rateWindowMs: windowMs, timeoutMs }: KeyLimits,
  journal: Journal,
  watch: BudgetWatch,
): (secret: string) => Budget {
  return (secret) => {
    const ofKey = journal.of(nameInJournal(`${baseUrl} ${secret}`), { windowMs, timeoutMs });
    const store = new MemoryStore({ clock, limit, windowMs, journal: ofKey });
    return new ProcessBudget(clock, store, watch);
  };
}

/**
 * The budget of a process that has its keys to itself: whenever something changes, it claims slots for the first who
 * wait, until the law says how long to wait.
 */
export class ProcessBudget extends QueuedBudget {
  /** A slot is free or not: that is known at once. */
  readonly answersInMs = 0;
  readonly #store: MemoryStore;
  readonly #watch: BudgetWatch | undefined;
  #wake: (() => void) | null = null;
  #slots = 0;

  constructor(clock: Clock, store: MemoryStore, watch?: BudgetWatch) {
    super(clock);
    this.#store = store;
    this.#watch = watch;
  }

  sendNow(request: SlotRequest): void {
    const position = this.lanes.position(request);
    if (position !== undefined) this.#claim(request.lane, { request, past: position });
  }

  protected get budget(): KeyBudget {
    return this.#store.document;
  }

  protected get view(): BudgetView {
    return { ...this.#store.look(), heldMs: 0, bids: [], isAlive };
  }

  protected pump(): void {
    for (;;) {
      const lane = this.drains && this.lanes.next === 'refresh' ? undefined : this.lanes.next;
      if (!lane) return this.#wakeIn(null);
      const stop = this.#claim(lane);
      if (stop) return this.#wakeIn(stop.waitMs);
    }
  }

  /** Those whose turn is next. */
  #wanted(refresh: boolean): SlotRequest[] {
    if (refresh) return this.lanes.mostUrgent(1).map((each) => each.refresh);
    const wanted: SlotRequest[] = [];
    for (const request of this.lanes.inOrder()) {
      if (wanted.push(request) === MOST_WANTS) break;
    }
    return wanted;
  }

  /**
   * Claims slots for those whose turn is next, or for one that rushes past so many others, and gives their turns to those
   * that get one. Answers why nobody would.
   */
  #claim(
    lane: Lane,
    rush?: { readonly request: SlotRequest; readonly past: number },
  ): Stop | undefined {
    const { rules } = this.#store;
    let requests: readonly SlotRequest[] = [];
    let wants: readonly WantedSlot[] = [];
    const claimed = this.#store.change((b, now, free): Stop | ClaimResult => {
      const at = { lane, free, wire: onWire(b, isAlive), reserved: 0 };
      const stop = rush ? undefined : stopOf(b, rules, now, at);
      if (stop) return stop;
      requests = rush ? [rush.request] : this.#wanted(lane === 'refresh');
      wants = requests.map((request) => this.#wantOf(request, rush?.past));
      const { waits } = this.lanes;
      return claimSlots(b, rules, now, wants, { owner: SELF, free, waits, bids: [], isAlive });
    });
    if (!('granted' in claimed)) return claimed;
    for (const [at, { id }] of wants.entries()) {
      const request = requests[at];
      if (!claimed.granted[at] || !request) continue;
      this.lanes.remove(request);
      this.noteUse(id, request);
      this.grant(request, this.#slotOf(id));
    }
    return undefined;
  }

  #wantOf(request: SlotRequest, rushPast: number | undefined): WantedSlot {
    this.#slots += 1;
    const { lane, lengthy = false } = request;
    const want = { id: String(this.#slots), lane, caller: this.lanes.callerOf(request), lengthy };
    return rushPast === undefined ? want : { ...want, rushPast };
  }

  #slotOf(id: string): Slot {
    const store = this.#store;
    return {
      kind: 'slot',
      // A pause can begin between a turn and the first byte.
      mayLeave: () => this.pausedMs === 0,
      release: () => {
        store.change((b) => cancelSlot(b, id));
        this.pumpSoon(false);
      },
      end: (feedback) => {
        const { foreign, pauses } = store.change((b, now) =>
          endSlot(b, store.rules, now, { id, owner: SELF, feedback }),
        );
        if (foreign > 0) this.#watch?.foreign(foreign);
        if (pauses) this.#watch?.paused(this.pausedMs);
        this.pumpSoon(feedback.refused !== undefined);
      },
    };
  }

  #wakeIn(ms: number | null): void {
    this.#wake?.();
    this.#wake = null;
    if (ms === null || !Number.isFinite(ms)) return;
    // Times are sums of fractions: what is off by a billionth is not to cost a whole millisecond.
    this.#wake = this.clock.after(Math.max(1, Math.ceil(ms - 1e-6)), () => {
      this.#wake = null;
      this.pump();
    });
  }
}

function isAlive(): boolean {
  return true;
}
