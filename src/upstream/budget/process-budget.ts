import type { Clock } from '../../clock.ts';
import { createDigest } from '../../digest.ts';
import type { Feedback } from '../wire/rate-limit-headers.ts';
import type {
  Budget,
  BudgetState,
  BudgetWatch,
  BudgetWindow,
  Slot,
  SlotRequest,
} from './budget.ts';
import { Caution } from './caution.ts';
import type { Journal } from './journal/journal.ts';
import { type Claimed, type Lease, ProcessLedger } from './ledger.ts';
import { Pause } from './pause.ts';
import { QueuedBudget } from './queued-budget.ts';
import { reconcile, tellsSpent } from './reconcile.ts';
import { RefreshPace } from './refresh-pace.ts';

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
    const ledger = new ProcessLedger({ clock, limit, windowMs, journal: ofKey });
    return new ProcessBudget(clock, ledger, watch);
  };
}

/**
 * The budget of a process that has its keys to itself. A pump: whenever something changes it offers the first
 * who waits to the ledger, until a pause, caution or the ledger says to wait.
 */
export class ProcessBudget extends QueuedBudget {
  /** A slot is free or not: that is known at once. */
  readonly answersInMs = 0;
  readonly #ledger: ProcessLedger;
  readonly #pause: Pause;
  readonly #caution: Caution;
  readonly #refreshPace: RefreshPace;
  readonly #watch: BudgetWatch | undefined;
  #wake: (() => void) | null = null;

  constructor(clock: Clock, ledger: ProcessLedger, watch?: BudgetWatch) {
    super(clock);
    this.#ledger = ledger;
    this.#watch = watch;
    this.#pause = new Pause(clock, ledger.windowMs);
    this.#caution = new Caution(clock, ledger.windowMs, ledger.journal);
    this.#refreshPace = new RefreshPace(clock, ledger.view.limit);
  }

  sendNow(request: SlotRequest): void {
    const position = this.lanes.position(request);
    if (position === undefined || this.#pause.restMs > 0) return;
    if (this.#caution.strict && this.#caution.waitMs(this.#ledger.view, request.lane) > 0) return;
    const claimed = this.#claim(request, position);
    if ('retryAt' in claimed) return;
    this.lanes.remove(request);
    this.#dispatch(request, claimed.lease);
  }

  get limit(): number {
    return this.#ledger.view.limit;
  }

  get state(): BudgetState {
    const { clearAt } = this.#ledger;
    const { limit, used, free } = this.#ledger.view;
    const now = this.clock.now();
    const paused = this.#pause.restMs > 0;
    const writeInMs = (): number => this.estimate('write', '');
    return {
      limit,
      used: Math.min(limit, used),
      remaining: paused ? 0 : free,
      queued: this.lanes.waiting,
      resetInMs:
        clearAt === null && !paused ? null : Math.max(clearAt ?? now, this.#pause.until) - now,
      // Few ask for it.
      get writeInMs() {
        return writeInMs();
      },
    };
  }

  get window(): BudgetWindow {
    const { clearAt, slots, view } = this.#ledger;
    const now = this.clock.now();
    return {
      limit: view.limit,
      taken: slots,
      nextInMs: clearAt === null ? null : this.#ledger.availableAt(view.free, now) - now,
      allInMs: clearAt === null ? null : clearAt - now,
    };
  }

  get pausedMs(): number {
    return this.#pause.restMs;
  }

  get idle(): boolean {
    const quiet = this.lanes.waiting === 0 && this.#pause.restMs === 0;
    return quiet && this.#ledger.view.free > this.#ledger.reserve;
  }

  get refreshesPerWindow(): number {
    return Math.max(1, this.#ledger.view.limit - this.#ledger.reserve);
  }

  get windowMs(): number {
    return this.#ledger.windowMs;
  }

  protected get latencyMs(): number {
    return this.#ledger.view.latencyMs;
  }

  protected estimateAt(position: number): number {
    const now = this.clock.now();
    const { view } = this.#ledger;
    const earliest = Math.max(now, this.#pause.until);
    const slot = this.#ledger.availableAt(position, earliest);
    const turn = earliest + this.#caution.estimateMs(position, view, view.latencyMs);
    return Math.max(slot, turn) - now;
  }

  protected pump(): void {
    for (;;) {
      if (this.#pause.restMs > 0) return this.#wakeIn(this.#pause.restMs);
      const refreshMs = this.#refreshWaitMs;
      const next = this.lanes.peek(refreshMs === 0);
      if (!next) {
        if (this.lanes.size('refresh') > 0) this.#wakeIn(refreshMs);
        return undefined;
      }
      const holdMs = this.#caution.waitMs(this.#ledger.view, next.lane);
      if (holdMs > 0) return this.#wakeIn(holdMs);
      const claimed = this.#claim(next, 0);
      if ('retryAt' in claimed) return this.#wakeIn(claimed.retryAt - this.clock.now());
      this.lanes.next(refreshMs === 0);
      this.#dispatch(next, claimed.lease);
    }
  }

  #claim({ lane, lengthy = false, resource }: SlotRequest, ahead: number): Claimed {
    const { view } = this.#ledger;
    const claimed = this.#ledger.claim({ lane, lengthy, resource, ahead });
    if (!('retryAt' in claimed)) this.#caution.sends(view);
    return claimed;
  }

  #dispatch(request: SlotRequest, lease: Lease): void {
    if (request.lane === 'refresh') this.#refreshPace.spend();
    this.grant(request, this.#slotOf(lease));
  }

  #slotOf(lease: Lease): Slot {
    const { era } = this.#pause;
    lease.begin();
    return {
      kind: 'slot',
      // A pause can begin between a turn and the first byte.
      mayLeave: () => this.#pause.restMs === 0,
      release: () => {
        lease.cancel();
        this.pumpSoon(false);
      },
      end: (feedback) => {
        lease.end();
        this.#learn(feedback, lease.countable(), era);
        this.pumpSoon(feedback.refused !== undefined);
      },
    };
  }

  /** Learns from an answer to a request that left in `era`. */
  #learn(feedback: Feedback, countable: number, era: number): void {
    if (tellsSpent(feedback, this.#ledger.view.limit)) this.#ledger.spentIsTold();
    const { limit, coTenants } = this.#ledger.view;
    const { remainingHeard } = this.#caution;
    const { windowMs } = this;
    const learnt = reconcile(feedback, { limit, windowMs, countable, coTenants, remainingHeard });
    this.#ledger.follow(learnt.limit);
    if (learnt.unknown) {
      this.#ledger.addCoTenants(learnt.unknown.count, learnt.unknown.ms);
      this.#watch?.foreign(learnt.unknown.count);
      if (remainingHeard) {
        this.#caution.coTenantSeen();
        this.#ledger.journal.coTenantSeen();
      }
    }
    this.#caution.heard(feedback.remaining !== null);
    if (feedback.refused) {
      const begins = era === this.#pause.era;
      this.#pause.refused(feedback.refused.retryAfterMs ?? feedback.resetInMs, era);
      if (begins) this.#watch?.paused(this.#pause.restMs);
      this.#caution.refused();
      this.#ledger.journal.coTenantSeen();
    } else if (era === this.#pause.era) {
      this.#pause.accepted();
      this.#caution.accepted();
    }
  }

  /** Milliseconds until a refresh may go as far as pace is concerned; infinite once it drains. */
  get #refreshWaitMs(): number {
    if (this.drains) return Number.POSITIVE_INFINITY;
    const everyMs = this.windowMs / this.refreshesPerWindow;
    return this.#refreshPace.waitMs(this.#ledger.view.limit, everyMs);
  }

  #wakeIn(ms: number): void {
    this.#wake?.();
    this.#wake = null;
    if (!Number.isFinite(ms)) return;
    this.#wake = this.clock.after(Math.max(1, Math.ceil(ms)), () => {
      this.#wake = null;
      this.pump();
    });
  }
}
