import { inBackground } from '../../at-once.ts';
import type { Clock } from '../../clock.ts';
import { createDigest } from '../../digest.ts';
import type { Feedback } from '../wire/rate-limit-headers.ts';
import type { Budget, BudgetState, BudgetWatch, BudgetWindow, Job } from './budget.ts';
import { Caution } from './caution.ts';
import type { Journal } from './journal/journal.ts';
import { type Claimed, type Lease, ProcessLedger } from './ledger.ts';
import { Pause } from './pause.ts';
import { QueuedBudget } from './queued-budget.ts';
import { reconcile } from './reconcile.ts';
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
    this.#caution = new Caution(clock, ledger.windowMs);
    this.#refreshPace = new RefreshPace(clock, ledger.view.limit);
  }

  rush(job: Job): void {
    const position = this.lanes.position(job);
    if (position === undefined || this.#pause.restMs > 0) return;
    if (this.#caution.strict && this.#caution.waitMs(this.#ledger.view, job.lane) > 0) return;
    const claimed = this.#claim(job, position);
    if ('retryAt' in claimed) return;
    this.lanes.remove(job);
    this.#dispatch(job, claimed.lease);
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
      const job = this.lanes.peek(refreshMs === 0);
      if (!job) {
        if (this.lanes.size('refresh') > 0) this.#wakeIn(refreshMs);
        return undefined;
      }
      const holdMs = this.#caution.waitMs(this.#ledger.view, job.lane);
      if (holdMs > 0) return this.#wakeIn(holdMs);
      const claimed = this.#claim(job, 0);
      if ('retryAt' in claimed) return this.#wakeIn(claimed.retryAt - this.clock.now());
      this.lanes.next(refreshMs === 0);
      this.#dispatch(job, claimed.lease);
    }
  }

  #claim({ lane, lengthy = false, resource }: Job, ahead: number): Claimed {
    const { view } = this.#ledger;
    const claimed = this.#ledger.claim({ lane, lengthy, resource, ahead });
    if (!('retryAt' in claimed)) this.#caution.sends(view);
    return claimed;
  }

  /** Sends a job in this turn, once those who have asked for it wait for it. */
  #dispatch(job: Job, lease: Lease): void {
    if (job.lane === 'refresh') this.#refreshPace.spend();
    job.dispatched();
    inBackground(
      Promise.resolve().then(() => {
        if (this.#pause.restMs === 0) return this.#send(job, lease);
        // The pause has begun since the claim.
        lease.cancel();
        this.putBack(job);
        return this.pump();
      }),
    );
  }

  async #send(job: Job, lease: Lease): Promise<void> {
    const { era } = this.#pause;
    lease.begin();
    const attempted = await job.attempt();
    if (attempted.kind === 'unsent' || attempted.kind === 'late') {
      lease.cancel();
    } else {
      lease.end();
      this.#learn(attempted.feedback, lease.countable(), era);
      if (attempted.kind !== 'done') this.putBack(job);
      if (attempted.kind === 'refused') this.tellDelay();
    }
    this.pump();
  }

  /** Learns from an answer to a request that left in `era`. */
  #learn(feedback: Feedback, countable: number, era: number): void {
    const { limit, coTenants } = this.#ledger.view;
    const { remainingHeard } = this.#caution;
    const { windowMs } = this;
    const learnt = reconcile(feedback, { limit, windowMs, countable, coTenants, remainingHeard });
    this.#ledger.follow(learnt.limit);
    if (learnt.unknown) {
      this.#ledger.addCoTenants(learnt.unknown.count, learnt.unknown.ms);
      this.#watch?.foreign(learnt.unknown.count);
      if (remainingHeard) this.#caution.coTenantSeen();
    }
    this.#caution.heard(feedback.remaining !== null);
    if (feedback.refused) {
      const begins = era === this.#pause.era;
      this.#pause.refused(feedback.refused.retryAfterMs ?? feedback.resetInMs, era);
      if (begins) this.#watch?.paused(this.#pause.restMs);
      this.#caution.refused();
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
