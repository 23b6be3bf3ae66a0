import type { Clock } from '../../clock.ts';
import type { Feedback } from '../wire/rate-limit-headers.ts';
import { Caution } from './caution.ts';
import { type Lane, Lanes, type Waiting } from './lanes.ts';
import type { Claimed, Lease, Ledger } from './ledger.ts';
import { Pause } from './pause.ts';
import { reconcile } from './reconcile.ts';
import { RefreshPace } from './refresh-pace.ts';

/**
 * What came of one attempt to send a request in its slot. `unsent`: it was not needed any more, or is kept
 * back. `refused`: the upstream did nothing, for its rate limit. `again`: it wants another slot.
 */
export type Attempted =
  | { readonly kind: 'unsent' }
  | { readonly kind: 'refused' | 'again' | 'done'; readonly feedback: Feedback };

/** A request that wants a slot. */
export interface Job extends Waiting {
  /** Sends the request. Must not reject: what the answer means to its readers is the job's business. */
  attempt(): Promise<Attempted>;
  /** True for what takes long by its nature, such as an upload: nothing waits for its headers. */
  readonly lengthy?: boolean;
  /** Its turn has come: it does not wait in its lane any more, and `attempt` follows. */
  dispatched(): void;
  /**
   * It waits in its lane, for about so many milliseconds: it lost its turn or its request went in vain,
   * or a pause has begun. Answers whether it still wants to be sent, and cancels itself if not.
   */
  delayed(estimateMs: number): boolean;
}

/** The state of one key's budget, for people and for `rateLimit`. */
export interface BudgetState {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** Requests that wait for a slot. */
  readonly queued: number;
  /** Milliseconds until nothing counts any more; `null` when nothing counts now. */
  readonly resetInMs: number | null;
  /** Milliseconds until a new write would be sent, as far as can be known now. */
  readonly writeInMs: number;
}

/**
 * Admission of requests to one upstream key: who goes when, so that the key's limit holds in every
 * sliding window, writes go first, readers take turns, and refreshes use what is left. A pump: whenever
 * something changes it offers the first who waits to the ledger, until a pause, caution or the ledger
 * says to wait.
 */
export class Budget {
  readonly #clock: Clock;
  readonly #ledger: Ledger;
  readonly #lanes = new Lanes<Job>();
  readonly #pause: Pause;
  readonly #caution: Caution;
  readonly #refreshPace: RefreshPace;
  #wake: (() => void) | null = null;
  /** When the process will end; `null` while it is not about to. */
  #drainedAt: number | null = null;

  constructor(clock: Clock, ledger: Ledger) {
    this.#clock = clock;
    this.#ledger = ledger;
    this.#pause = new Pause(clock, ledger.windowMs);
    this.#caution = new Caution(clock, ledger.windowMs);
    this.#refreshPace = new RefreshPace(clock, ledger.view.limit);
  }

  /** Queues a job; it is sent when its turn comes, unless it is cancelled before. */
  enqueue(job: Job): void {
    this.#lanes.add(job);
    this.#pump();
  }

  /** Takes a job out of the queue; false when it has already been sent. Nothing is spent for it. */
  cancel(job: Job): boolean {
    return this.#lanes.remove(job);
  }

  /**
   * Lets a read or a refresh go when a new read of this caller would, if that is sooner, because they
   * wait for it too. From then on it is charged to them.
   */
  hasten(job: Job, caller: string): void {
    if (job.lane !== 'refresh') {
      if (job.caller === caller) return;
      const position = this.#lanes.position(job);
      if (position === undefined || position <= this.#lanes.ahead('interactive', caller)) return;
    }
    const waits = this.#lanes.remove(job);
    job.lane = 'interactive';
    job.caller = caller;
    if (waits) this.enqueue(job);
  }

  /**
   * Sends a queued job now if there are slots for it and for all before it, and nothing holds it but
   * an answer that may not tell anything: its caller has no time to wait.
   */
  rush(job: Job): void {
    const position = this.#lanes.position(job);
    if (position === undefined || this.#pause.restMs > 0) return;
    if (this.#caution.strict && this.#caution.waitMs(this.#ledger.view, job.lane) > 0) return;
    const claimed = this.#claim(job, position);
    if ('retryAt' in claimed) return;
    this.#lanes.remove(job);
    this.#dispatch(job, claimed);
  }

  /** Milliseconds until a new job of this caller would be sent, as far as can be known now. */
  estimate(lane: 'write' | 'interactive', caller: string): number {
    return this.#estimateAt(this.#lanes.ahead(lane, caller));
  }

  /** Milliseconds until a job that waits in a lane of its own right is sent; 0 when it does not wait. */
  estimateOf(job: Job): number {
    const position = this.#lanes.position(job);
    return position === undefined ? 0 : this.#estimateAt(position);
  }

  /** The budget as it stands. */
  get state(): BudgetState {
    const { clearAt } = this.#ledger;
    const { limit, used, free } = this.#ledger.view;
    const now = this.#clock.now();
    const paused = this.#pause.restMs > 0;
    const writeInMs = (): number => this.estimate('write', '');
    return {
      limit,
      used: Math.min(limit, used),
      remaining: paused ? 0 : free,
      queued: this.#lanes.waiting,
      resetInMs:
        clearAt === null && !paused ? null : Math.max(clearAt ?? now, this.#pause.until) - now,
      // Few ask for it.
      get writeInMs() {
        return writeInMs();
      },
    };
  }

  /** Requests that wait in one lane. */
  queuedIn(lane: Lane): number {
    return this.#lanes.size(lane);
  }

  /** Milliseconds until a refusal's pause is over; 0 when there is none. */
  get pausedMs(): number {
    return this.#pause.restMs;
  }

  /**
   * Lets only those finish who can within `graceMs`: whoever has a slot, and writes whose turn comes in
   * time. Reads that wait, now or later, are turned away; a refresh is not sent any more.
   */
  drain(graceMs: number): void {
    if (this.#drainedAt !== null) return;
    this.#drainedAt = this.#clock.now() + graceMs;
    this.#tellDelay();
    // Writes whose turn was to come in time, and did not.
    this.#clock.after(graceMs, () => this.#tellDelay());
  }

  /** Whether a job that would wait for so long cannot be served any more, because of `drain`. */
  turnsAway(job: Job, estimateMs: number): boolean {
    if (this.#drainedAt === null) return false;
    return job.lane !== 'write' || this.#clock.now() + estimateMs > this.#drainedAt;
  }

  /** Whether slots are to spare: nothing waits, and more are free than the reserve. */
  get idle(): boolean {
    const quiet = this.#lanes.waiting === 0 && this.#pause.restMs === 0;
    return quiet && this.#ledger.view.free > this.#ledger.reserve;
  }

  /** How many refreshes a window has room for when no reader or writer asks. */
  get refreshesPerWindow(): number {
    return Math.max(1, this.#ledger.view.limit - this.#ledger.reserve);
  }

  /** The window of the limit, in milliseconds. */
  get windowMs(): number {
    return this.#ledger.windowMs;
  }

  #estimateAt(position: number): number {
    const now = this.#clock.now();
    const { view } = this.#ledger;
    const earliest = Math.max(now, this.#pause.until);
    const slot = this.#ledger.availableAt(position, earliest);
    const turn = earliest + this.#caution.estimateMs(position, view, view.latencyMs);
    return Math.max(slot, turn) - now;
  }

  /** Sends whatever may be sent now, and sees to being called again when more may. */
  #pump(): void {
    for (;;) {
      if (this.#pause.restMs > 0) return this.#wakeIn(this.#pause.restMs);
      const refreshMs = this.#refreshWaitMs;
      const job = this.#lanes.peek(refreshMs === 0);
      if (!job) {
        if (this.#lanes.size('refresh') > 0) this.#wakeIn(refreshMs);
        return undefined;
      }
      const holdMs = this.#caution.waitMs(this.#ledger.view, job.lane);
      if (holdMs > 0) return this.#wakeIn(holdMs);
      const claimed = this.#claim(job, 0);
      if ('retryAt' in claimed) return this.#wakeIn(claimed.retryAt - this.#clock.now());
      this.#lanes.next(refreshMs === 0);
      this.#dispatch(job, claimed);
    }
  }

  #claim({ lane, lengthy = false }: Job, ahead: number): Claimed | Promise<Claimed> {
    const { view } = this.#ledger;
    const claimed = this.#ledger.claim({ lane, lengthy, ahead });
    if (!('retryAt' in claimed)) this.#caution.sends(view);
    return claimed;
  }

  /** Sends a job when its claim is granted; another one may be sent meanwhile. */
  #dispatch(job: Job, claimed: Claimed | Promise<Claimed>): void {
    if (job.lane === 'refresh') this.#refreshPace.spend();
    job.dispatched();
    void Promise.resolve(claimed).then((answer) => {
      // A pause can begin between a claim and its grant.
      const held = 'retryAt' in answer || this.#pause.restMs > 0;
      if (!held) return this.#send(job, answer.lease);
      if ('lease' in answer) answer.lease.cancel();
      this.#putBack(job);
      return this.#pump();
    });
  }

  async #send(job: Job, lease: Lease): Promise<void> {
    const { era } = this.#pause;
    lease.begin();
    const attempted = await job.attempt();
    if (attempted.kind === 'unsent') {
      lease.cancel();
    } else {
      lease.end();
      this.#learn(attempted.feedback, lease.countable(), era);
      if (attempted.kind !== 'done') this.#putBack(job);
      if (attempted.kind === 'refused') this.#tellDelay();
    }
    this.#pump();
  }

  #putBack(job: Job): void {
    this.#lanes.addFirst(job);
    job.delayed(this.estimateOf(job));
  }

  /** Lets those who wait reckon with a pause, instead of finding out when their patience is over. */
  #tellDelay(): void {
    let position = 0;
    // Whoever does not want to wait so long leaves the lanes meanwhile.
    for (const job of Array.from(this.#lanes.inOrder())) {
      if (job.delayed(this.#estimateAt(position))) position += 1;
    }
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
      if (remainingHeard) this.#caution.coTenantSeen();
    }
    this.#caution.heard(feedback.remaining !== null);
    if (feedback.refused) {
      this.#pause.refused(feedback.refused.retryAfterMs ?? feedback.resetInMs, era);
      this.#caution.refused();
    } else if (era === this.#pause.era) {
      this.#pause.accepted();
      this.#caution.accepted();
    }
  }

  /** Milliseconds until a refresh may go as far as pace is concerned; infinite once it drains. */
  get #refreshWaitMs(): number {
    if (this.#drainedAt !== null) return Number.POSITIVE_INFINITY;
    const everyMs = this.windowMs / this.refreshesPerWindow;
    return this.#refreshPace.waitMs(this.#ledger.view.limit, everyMs);
  }

  #wakeIn(ms: number): void {
    this.#wake?.();
    this.#wake = null;
    if (!Number.isFinite(ms)) return;
    this.#wake = this.#clock.after(Math.max(1, Math.ceil(ms)), () => {
      this.#wake = null;
      this.#pump();
    });
  }
}
