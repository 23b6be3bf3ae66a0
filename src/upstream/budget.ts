import type { Clock } from '../clock.ts';
import { type Lane, Lanes, type Waiting } from './lanes.ts';
import { Leases } from './leases.ts';

/** What one answer says about the budget of its key. */
export interface Feedback {
  /** Requests per window that the upstream announces. */
  readonly limit: number | null;
  /** Requests left in the upstream's window, by its own count. */
  readonly remaining: number | null;
  /** Milliseconds until the upstream's window begins anew. */
  readonly resetInMs: number | null;
  /** Present when the upstream refused: it did nothing, and wants no request for so long, if it says. */
  readonly refused?: { readonly retryAfterMs: number | null };
  /** Present when the job wants another slot, at the head of its lane. */
  readonly again?: true;
}

/** A request that wants a slot. */
export interface Job extends Waiting {
  /**
   * Sends the request and answers what its headers said, or `null` when there was no need to send
   * any more. Must not reject: what the answer means to its readers is the job's own business.
   */
  send(): Promise<Feedback | null>;
  /** Its turn has come: a slot is its own, and `send` follows at once. */
  dispatched(): void;
  /** It went in vain and is first in its lane again; after a refusal it goes after a pause. */
  requeued(): void;
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
  #pausedUntil = 0;
  #refusalsInARow = 0;
  #wake: (() => void) | null = null;
  /** The next request goes alone, because its headers tell what is left of the window. */
  #goAlone = true;
  #othersSeenAt = Number.NEGATIVE_INFINITY;
  #spentInAll = 0;
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

  /** Moves a queued job to a lane that goes earlier, because somebody now waits for it. */
  promote(job: Job, lane: Lane): void {
    if (!this.#lanes.remove(job)) return;
    job.lane = lane;
    this.enqueue(job);
  }

  /** Milliseconds until a new job of this caller would be sent, as far as can be known now. */
  estimate(lane: 'write' | 'interactive', caller: string): number {
    const now = this.#clock.now();
    const ahead = this.#lanes.ahead(lane, caller);
    const slot = Math.max(this.#leases.availableAt(ahead), this.#pausedUntil);
    const turn = this.#oneAtATime
      ? now + (ahead + this.#leases.onWire) * this.#leases.latencyMs
      : now;
    return Math.max(0, slot - now, turn - now);
  }

  /** The budget as it stands. */
  get state(): BudgetState {
    const { limit, used, clearAt } = this.#leases;
    const now = this.#clock.now();
    return {
      limit,
      used: Math.min(limit, used),
      remaining: this.#pausedUntil > now ? 0 : this.#leases.free,
      queued:
        this.#lanes.size('write') + this.#lanes.size('interactive') + this.#lanes.size('refresh'),
      resetInMs: clearAt === null ? null : Math.max(0, clearAt - now),
    };
  }

  /** How many refreshes a window has room for when nobody else asks. */
  get refreshesPerWindow(): number {
    return Math.max(1, this.#leases.limit - this.#reserve);
  }

  /** The window of the limit, in milliseconds. */
  get windowMs(): number {
    return this.#leases.windowMs;
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
      const refreshInMs = this.#refreshAllowedInMs();
      const job = this.#lanes.next(refreshInMs === 0);
      if (!job) {
        if (this.#lanes.size('refresh') > 0 && Number.isFinite(refreshInMs))
          this.#wakeIn(refreshInMs);
        return;
      }
      if (job.lane === 'refresh') this.#refreshTokens.count -= 1;
      job.dispatched();
      this.#send(job);
    }
  }

  #send(job: Job): void {
    // What the upstream can have counted of ours when it answers: all that counted when this
    // request left, and all that left while it was on the wire.
    let countable = 0;
    let spentBefore = 0;
    this.#leases.take(async () => {
      countable = this.#leases.taken;
      spentBefore = this.#spentInAll;
      this.#spentInAll += 1;
      const feedback = await job.send();
      if (feedback === null) {
        this.#spentInAll -= 1;
        return 'unused';
      }
      const sentMeanwhile = this.#spentInAll - spentBefore - 1;
      this.#learn(feedback, countable + sentMeanwhile);
      if (feedback.refused || feedback.again) {
        this.#lanes.addFirst(job);
        job.requeued();
      }
      return 'spent';
    });
  }

  #learn(feedback: Feedback, countable: number): void {
    const now = this.#clock.now();
    const { limit, remaining, resetInMs, refused } = feedback;
    if (limit !== null && limit > 0) this.#leases.limit = limit;
    if (remaining !== null) {
      const others = Math.max(0, this.#leases.limit - remaining - countable);
      const firstWord = this.#goAlone && this.#spentInAll === 1;
      // What is gone at the first answer may be our own, from before a restart: it counts for a
      // whole sliding window. Later it is somebody else's, and lasts until the upstream says.
      const lasts = firstWord ? this.windowMs : Math.min(this.windowMs, resetInMs ?? this.windowMs);
      if (others > 0 && !firstWord) this.#othersSeenAt = now;
      if (others > 0 || this.#leases.others > 0) this.#leases.setOthers(others, lasts);
    }
    if (!refused) {
      this.#refusalsInARow = 0;
      this.#goAlone = false;
      return;
    }
    const guess = Math.min(this.windowMs, FIRST_PAUSE_MS * 2 ** this.#refusalsInARow);
    const pause = refused.retryAfterMs ?? resetInMs ?? guess;
    this.#refusalsInARow += 1;
    this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.max(pause, 1));
    this.#goAlone = true;
    this.#othersSeenAt = now;
  }

  /** Whether each request waits for the answer to the one before, so that at most one is refused. */
  get #oneAtATime(): boolean {
    const remembered = OTHERS_REMEMBERED_WINDOWS * this.windowMs;
    return this.#goAlone || this.#clock.now() - this.#othersSeenAt < remembered;
  }

  get #reserve(): number {
    return Math.max(1, Math.round(this.#leases.limit * RESERVE_SHARE));
  }

  get #refreshBurst(): number {
    return Math.max(1, Math.floor(this.#leases.limit * REFRESH_BURST_SHARE));
  }

  /** 0 when a refresh may go now, else milliseconds until one may; infinite while the reserve is all. */
  #refreshAllowedInMs(): number {
    if (this.#leases.free <= this.#reserve) return Number.POSITIVE_INFINITY;
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
