import type { Clock } from '../../clock.ts';
import type { Feedback } from '../wire/rate-limit-headers.ts';
import { type Lane, Lanes, type Waiting } from './lanes.ts';
import { Leases } from './ledger.ts';

/** A request that wants a slot. */
export interface Job extends Waiting {
  /**
   * Sends the request and answers what its headers said, or `null` when there was no need to send
   * any more. Must not reject: what the answer means to its readers is the job's own business.
   */
  send(): Promise<Feedback | null>;
  /** True for what takes long by its nature, such as an upload: nothing waits for its headers. */
  readonly lengthy?: boolean;
  /** Its turn has come: a slot is its own, and `send` follows at once. */
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
}

interface BudgetOptions {
  readonly clock: Clock;
  /** Requests per window. */
  readonly limit: number;
  readonly windowMs: number;
}

/** Share of the limit that refreshes never take, so that a reader or a writer finds a slot. */
const RESERVE_SHARE = 1 / 15;
/** How many refreshes may go back to back before they are spread over the window. */
const REFRESH_BURST_SHARE = 1 / 6;
/** After so many windows without a sign of others on the key, requests go side by side again. */
const OTHERS_REMEMBERED_WINDOWS = 10;
/** So long after an answer, what it said of the budget is taken to hold still. */
const HEARD_MS = 250;
/** How long the others wait for a request that goes ahead to hear how the budget stands. */
const SCOUT_MS = 1000;
/** First pause after a refusal that does not say how long; doubles with each one in a row. */
const FIRST_PAUSE_MS = 1000;

/**
 * Admission of requests to one upstream key: who goes when, so that the key's limit holds in every
 * sliding window, writes go first, readers take turns, and refreshes use what is left.
 *
 * Implements: Link API > Limits.
 */
export class Budget {
  readonly #clock: Clock;
  readonly #leases: Leases;
  readonly #lanes = new Lanes<Job>();
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #refusalsInARow = 0;
  /** Counts the pauses: what left before the latest one tells nothing about the time after it. */
  #era = 0;
  #wake: (() => void) | null = null;
  /** The next request goes alone, because its headers tell what is left of the window. */
  #goAlone = true;
  #remainingSeen = false;
  /** When the upstream last answered anything. */
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Until then a request that has gone ahead is waited for: others may have spent the key meanwhile. */
  #scoutUntil = Number.NEGATIVE_INFINITY;
  #othersSeenAt = Number.NEGATIVE_INFINITY;
  #sends = 0;
  /** When the process will end; `null` while it is not about to. */
  #drainedAt: number | null = null;
  #refreshTokens: { count: number; at: number };

  constructor(options: BudgetOptions) {
    this.#clock = options.clock;
    this.#leases = new Leases({ ...options, onChange: () => this.#pump() });
    this.#refreshTokens = { count: this.#refreshBurst, at: options.clock.now() };
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
      const position = this.#lanes.position(job);
      if (position === undefined || position <= this.#lanes.ahead('interactive', caller)) return;
    }
    const waits = this.#lanes.remove(job);
    job.lane = 'interactive';
    job.caller = caller;
    if (waits) this.enqueue(job);
  }

  /**
   * Sends a queued job now if slots are free for it and for all before it, and nothing keeps it but
   * one that has gone ahead to hear how the budget stands: somebody has no time to wait for that.
   */
  rush(job: Job): void {
    const position = this.#lanes.position(job);
    const { free, onWire } = this.#leases;
    if (position === undefined || position >= free || this.#pausedUntil > this.#clock.now()) return;
    if ((onWire > 0 && this.#oneAtATime) || !this.#lanes.remove(job)) return;
    job.dispatched();
    this.#send(job);
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
    const { limit, used, clearAt } = this.#leases;
    const now = this.#clock.now();
    const paused = this.#pausedUntil > now;
    const resetAt = Math.max(clearAt ?? now, this.#pausedUntil);
    return {
      limit,
      used: Math.min(limit, used),
      remaining: paused ? 0 : this.#leases.free,
      queued:
        this.#lanes.size('write') + this.#lanes.size('interactive') + this.#lanes.size('refresh'),
      resetInMs: clearAt === null && !paused ? null : resetAt - now,
    };
  }

  /** Requests that wait in one lane. */
  queuedIn(lane: Lane): number {
    return this.#lanes.size(lane);
  }

  /** Milliseconds until a refusal's pause is over; 0 when there is none. */
  get pausedMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.now());
  }

  /**
   * Keeps only what can end within `graceMs`: whatever has a slot, and writes whose turn comes in
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
    const queued = this.state.queued > 0 || this.#pausedUntil > this.#clock.now();
    return !queued && this.#leases.free > this.#reserve;
  }

  /** Refreshes that wait for a slot. */
  get refreshesQueued(): number {
    return this.#lanes.size('refresh');
  }

  /** How many refreshes a window has room for when nobody else asks. */
  get refreshesPerWindow(): number {
    return Math.max(1, this.#leases.limit - this.#reserve);
  }

  /** The window of the limit, in milliseconds. */
  get windowMs(): number {
    return this.#leases.windowMs;
  }

  #estimateAt(position: number): number {
    const now = this.#clock.now();
    const { latencyMs, onWire } = this.#leases;
    const earliest = Math.max(now, this.#pausedUntil);
    const slot = this.#leases.availableAt(position, earliest);
    let turn = earliest;
    if (this.#othersAbout) turn += (position + onWire) * latencyMs;
    else if ((this.#goAlone || this.#scouting) && position + onWire > 0) turn += latencyMs;
    return Math.max(slot, turn) - now;
  }

  /** Sends whatever may be sent now, and sees to being called again when more may. */
  #pump(): void {
    for (;;) {
      const now = this.#clock.now();
      if (this.#pausedUntil > now) {
        this.#wakeIn(this.#pausedUntil - now);
        return;
      }
      if (this.#leases.free === 0) return;
      if (this.#leases.onWire > 0 && this.#oneAtATime) return;
      if (this.#leases.onWire > 0 && this.#scoutUntil > now) {
        this.#wakeIn(this.#scoutUntil - now);
        return;
      }
      const refreshInMs = this.#refreshAllowedInMs();
      const job = this.#lanes.next(refreshInMs === 0);
      if (!job) {
        if (this.#lanes.size('refresh') > 0 && Number.isFinite(refreshInMs))
          this.#wakeIn(refreshInMs);
        return;
      }
      if (job.lane === 'refresh') this.#refreshTokens.count -= 1;
      if (this.#scouting) this.#scoutUntil = now + SCOUT_MS;
      job.dispatched();
      this.#send(job);
    }
  }

  #send(job: Job): void {
    let era = 0;
    // What the upstream can have counted of ours when it answers: all that counted when this
    // request left, and all that left while it was on the wire.
    let countable = 0;
    let sends = 0;
    this.#leases.take(
      async () => {
        // A pause can begin between a job's turn and its request.
        if (this.#pausedUntil > this.#clock.now()) {
          this.#putBack(job);
          return null;
        }
        era = this.#era;
        countable = this.#leases.countable;
        this.#sends += 1;
        sends = this.#sends;
        return job.send();
      },
      (feedback) => {
        this.#learn(feedback, countable + this.#sends - sends, era === this.#era);
        if (feedback.refused || feedback.again) this.#putBack(job);
        if (feedback.refused) this.#tellDelay();
      },
      job.lengthy,
    );
  }

  #putBack(job: Job): void {
    this.#lanes.addFirst(job);
    job.delayed(this.estimateOf(job));
  }

  /** Lets those who wait reckon with a pause, instead of finding out when their patience is over. */
  #tellDelay(): void {
    let position = 0;
    for (const job of this.#lanes.inOrder()) {
      if (job.delayed(this.#estimateAt(position))) position += 1;
    }
  }

  /** `current`: the request left after the latest pause. */
  #learn(feedback: Feedback, countable: number, current: boolean): void {
    const now = this.#clock.now();
    const { limit, remaining, resetInMs, refused } = feedback;
    this.#heardAt = now;
    this.#scoutUntil = now;
    if (limit !== null && limit > 0) this.#leases.limit = limit;
    if (remaining !== null) {
      // What is gone at the first answer may be our own, from before a restart: it counts for a
      // whole sliding window. Later it is somebody else's, and lasts until the upstream says.
      const lasts = this.#remainingSeen
        ? (resetInMs ?? refused?.retryAfterMs ?? this.windowMs)
        : this.windowMs;
      // Headers only ever add to what others are known to have spent: that time passes on its own.
      const more = this.#leases.limit - remaining - countable - this.#leases.others;
      if (more > 0) {
        this.#leases.addOthers(more, Math.min(lasts, this.windowMs));
        if (this.#remainingSeen) this.#othersSeenAt = now;
      }
      this.#remainingSeen = true;
    }
    if (refused) {
      this.#pause(refused.retryAfterMs ?? resetInMs, current);
    } else if (current) {
      this.#refusalsInARow = 0;
      this.#goAlone = false;
    }
  }

  /** Sends nothing for as long as the upstream wants, and longer each time that was not enough. */
  #pause(toldMs: number | null, current: boolean): void {
    const now = this.#clock.now();
    let pauseMs = toldMs ?? 0;
    // Requests that were on the wire together are refused together: that is one refusal.
    if (current) {
      const guessMs = Math.min(this.windowMs, FIRST_PAUSE_MS * 2 ** this.#refusalsInARow);
      if (toldMs === null || this.#refusalsInARow > 0) pauseMs = Math.max(pauseMs, guessMs);
      this.#refusalsInARow += 1;
      this.#era += 1;
    }
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.max(pauseMs, 1));
    this.#goAlone = true;
    this.#othersSeenAt = now;
  }

  /** Whether each request waits for the answer to the one before, so that at most one is refused. */
  get #oneAtATime(): boolean {
    return this.#goAlone || this.#othersAbout;
  }

  /** Whether the next request goes ahead of the others, to hear what is left after a silence. */
  get #scouting(): boolean {
    const now = this.#clock.now();
    if (this.#leases.onWire > 0) return this.#scoutUntil > now;
    return this.#remainingSeen && now - this.#heardAt >= HEARD_MS;
  }

  /** Whether somebody else has been seen to spend the same key of late. */
  get #othersAbout(): boolean {
    const remembered = OTHERS_REMEMBERED_WINDOWS * this.windowMs;
    return this.#clock.now() - this.#othersSeenAt < remembered;
  }

  get #reserve(): number {
    const { limit } = this.#leases;
    return Math.min(limit - 1, Math.max(1, Math.round(limit * RESERVE_SHARE)));
  }

  get #refreshBurst(): number {
    return Math.max(1, Math.floor(this.#leases.limit * REFRESH_BURST_SHARE));
  }

  /** 0 when a refresh may go now, else milliseconds until one may; infinite while the reserve is all. */
  #refreshAllowedInMs(): number {
    if (this.#leases.free <= this.#reserve || this.#drainedAt !== null)
      return Number.POSITIVE_INFINITY;
    const tokens = this.#refreshTokens;
    const now = this.#clock.now();
    const everyMs = this.windowMs / this.refreshesPerWindow;
    tokens.count = Math.min(this.#refreshBurst, tokens.count + (now - tokens.at) / everyMs);
    tokens.at = now;
    return tokens.count >= 1 ? 0 : Math.max(1, Math.ceil((1 - tokens.count) * everyMs));
  }

  #wakeIn(ms: number): void {
    this.#wake?.();
    this.#wake = this.#clock.after(ms, () => {
      this.#wake = null;
      this.#pump();
    });
  }
}
