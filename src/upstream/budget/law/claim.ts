import type { Queue, Waiting } from '../queue.ts';
import { cautionMs, isStrict, sends } from './caution.ts';
import { type KeyBudget, type Lane, leftByRefreshes, type Rules } from './document.ts';
import { jobDueMs, jobGoes, jobsDue } from './jobs.ts';
import { refreshGoes, refreshMs } from './pace.ts';
import { Reserves } from './reserves.ts';
import { addHeld, comesBack, type Room, roomOf } from './slots.ts';

/** How slots are claimed. */
export interface ClaimOptions<W> {
  /** Number of free slots; by default those of the document. */
  readonly free?: number;
  /** Maximum number of slots that are granted; unlimited by default. */
  readonly most?: number;
  /** True if neither refreshes nor requests of the lane `bulk` are sent any more. */
  readonly drains?: boolean;
  /** Requests that do not wait for responses that may contain no rate-limit headers. */
  readonly rushing?: ReadonlySet<W>;
}

/** Why no further slot is granted. */
type Why = 'idle' | 'paused' | 'window' | 'caution' | 'refresh' | 'reserve' | 'turn';

/** Until when no further slot is granted, unless the state changes before. */
interface Stop {
  /** Milliseconds; infinite while no request waits, or only a change lets one go. */
  readonly waitMs: number;
  readonly why: Why;
}

/** The result of a claim: the requests that got a slot, and the names of the slots. */
export interface ClaimResult<W> extends Stop {
  readonly granted: readonly { readonly request: W; readonly id: string }[];
}

/**
 * Assigns slots in turn: writes and reads by the order of the queue, then refreshes, then the lane `bulk`. A request that
 * gets one leaves the queue. The document was purged for `now`.
 */
export function claimSlots<W extends Waiting>(
  b: KeyBudget,
  rules: Rules,
  now: number,
  queue: Queue<W>,
  options: ClaimOptions<W> = {},
): ClaimResult<W> {
  const claim = new Claim(b, rules, now, queue, { ...roomOf(b), ...options });
  return claim.run(options.most ?? Infinity);
}

class Claim<W extends Waiting> {
  readonly #b: KeyBudget;
  readonly #rules: Rules;
  readonly #now: number;
  readonly #queue: Queue<W>;
  readonly #options: ClaimOptions<W>;
  readonly #reserves: Reserves;
  /** Milliseconds until a caller may take a slot in a lane, until the next slot is granted. */
  readonly #waits = new Map<string, number>();
  /** Milliseconds until a caller that leaves the free slots to others may take one. */
  #reserveMs = Infinity;
  readonly #granted: { readonly request: W; readonly id: string }[] = [];
  #free: number;
  #wire: number;
  /** Number of requests of the lane `bulk` in flight. */
  #jobs: number;
  #refreshes: W[] | undefined;

  constructor(
    b: KeyBudget,
    rules: Rules,
    now: number,
    queue: Queue<W>,
    options: ClaimOptions<W> & Room,
  ) {
    this.#b = b;
    this.#rules = rules;
    this.#now = now;
    this.#queue = queue;
    this.#options = options;
    this.#free = options.free;
    this.#wire = options.wire;
    this.#jobs = options.jobs;
    this.#reserves = new Reserves(b, rules, now);
  }

  /** Grants slots until there is a reason to stop. */
  run(most: number): ClaimResult<W> {
    let stop = this.#paused();
    while (!stop && this.#granted.length < most) stop = this.#grantNext();
    return { ...(stop ?? { waitMs: 0, why: 'turn' }), granted: this.#granted };
  }

  #paused(): Stop | undefined {
    const waitMs = (this.#b.pause.until ?? 0) - this.#now;
    return waitMs > 0 ? { waitMs, why: 'paused' } : undefined;
  }

  /** Grants a slot to the request whose turn it is, or returns the reason why not. */
  #grantNext(): Stop | undefined {
    const queue = this.#queue;
    const callers = queue.size('write') + queue.size('interactive');
    if (callers + queue.size('refresh') + queue.size('bulk') === 0) return idle;
    if (this.#free <= 0) return { waitMs: this.#slotMs(-this.#free), why: 'window' };
    const job = this.#dueJob;
    if (job && queue.size('write') === 0) return this.#grant(job);
    if (callers === 0) return this.#rest();
    const spared = this.#spared;
    if (spared >= this.#free) return { waitMs: this.#slotMs(spared - this.#free), why: 'window' };
    this.#reserveMs = Infinity;
    const next = queue.next(this.#mayTake);
    if (!next) return this.#untilDue({ waitMs: this.#reserveMs, why: 'reserve' });
    const waitMs = this.#cautionMs(next.lane);
    if (waitMs === 0) return this.#grant(next);
    // The class whose turn it is can wait for a response that writes of other classes do not wait for.
    const write = queue.next(this.#mayTake, true);
    if (write && this.#cautionMs('write') === 0) return this.#grant(write);
    const rushing = this.#rushing();
    return rushing ? this.#grant(rushing) : { waitMs, why: 'caution' };
  }

  /** Nobody waits: refreshes go, then what takes the slots that are left. */
  #rest(): Stop | undefined {
    if (this.#options.drains) return idle;
    let stop: Stop = idle;
    if (this.#queue.size('refresh') > 0) {
      stop = this.#refreshStop();
      if (stop.waitMs === 0) {
        this.#refreshes ??= this.#queue.mostUrgent();
        const refresh = this.#refreshes.shift();
        if (!refresh) return idle;
        refreshGoes(this.#b, this.#rules, this.#now);
        return this.#grant(refresh);
      }
    }
    // Jobs do not use the slots that refreshes leave to others.
    const isPaced = stop.why !== 'caution' && this.#free > leftByRefreshes(this.#b.limit);
    if (this.#jobs > 0 || this.#queue.size('bulk') === 0) return stop;
    if (stop !== idle && !isPaced) return this.#untilDue(stop);
    this.#reserveMs = Infinity;
    const job = this.#queue.nextBulk(this.#mayTake);
    const waitMs = job ? this.#cautionMs('bulk') : this.#reserveMs;
    if (job && waitMs === 0) return this.#grant(job);
    return this.#untilDue({ waitMs: Math.min(stop.waitMs, waitMs), why: 'reserve' });
  }

  /** Why no refresh goes now; 0 milliseconds if one does. */
  #refreshStop(): Stop {
    const cautionMs = this.#cautionMs('refresh');
    if (cautionMs > 0) return { waitMs: cautionMs, why: 'caution' };
    const paceMs = refreshMs(this.#b, this.#rules, this.#now);
    const over = leftByRefreshes(this.#b.limit) - this.#free;
    return { waitMs: Math.max(paceMs, over < 0 ? 0 : this.#slotMs(over)), why: 'refresh' };
  }

  /** The request of the lane `bulk` that goes now at the minimum rate. */
  get #dueJob(): W | undefined {
    if (this.#jobs > 0 || this.#options.drains || this.#queue.size('bulk') === 0) return undefined;
    if (jobDueMs(this.#b, this.#rules, this.#now) > 0 || this.#cautionMs('bulk') > 0)
      return undefined;
    return this.#queue.nextBulk((caller) => this.#reserves.quotaLeft(caller) > 0);
  }

  /** Number of slots left to jobs whose turn is due, but which wait for the one under way. */
  get #spared(): number {
    const { drains } = this.#options;
    if (this.#jobs === 0 || drains || this.#queue.size('write') > 0) return 0;
    if (!this.#queue.nextBulk((caller) => this.#reserves.quotaLeft(caller) > 0)) return 0;
    return Math.min(jobsDue(this.#b, this.#rules, this.#now), this.#queue.size('bulk'));
  }

  /** A reason to stop, or the time at which a job goes in spite of it. */
  #untilDue(stop: Stop): Stop {
    const hasJob = this.#jobs === 0 && this.#queue.size('bulk') > 0 && !this.#options.drains;
    const dueMs = hasJob ? jobDueMs(this.#b, this.#rules, this.#now) : Infinity;
    return dueMs > 0 && dueMs < stop.waitMs ? { waitMs: dueMs, why: 'turn' } : stop;
  }

  /** A request that cannot wait, if all wait only because of caution and there are slots for it and all before it. */
  #rushing(): W | undefined {
    const { rushing } = this.#options;
    if (!rushing?.size || isStrict(this.#b, this.#rules, this.#now)) return undefined;
    const queue = this.#queue.copy();
    for (let free = this.#free; free > 0; free -= 1) {
      const next = queue.next(this.#mayTake);
      if (!next || rushing.has(next)) return next;
      queue.serve(next);
    }
    return undefined;
  }

  readonly #mayTake = (caller: string, lane: Lane): boolean => {
    const name = lane + caller;
    const known = this.#waits.get(name);
    const waitMs = known ?? this.#reserves.waitMs({ caller, lane }, this.#free - this.#spared);
    if (known === undefined) this.#waits.set(name, waitMs);
    if (waitMs > 0) this.#reserveMs = Math.min(this.#reserveMs, waitMs);
    return waitMs === 0;
  };

  #cautionMs(lane: Lane): number {
    const next = { isWrite: lane === 'write', wire: this.#wire };
    return cautionMs(this.#b, this.#rules, this.#now, next);
  }

  /** Milliseconds until the slot with `over` others before it is free again. */
  #slotMs(over: number): number {
    return comesBack(this.#b, this.#rules, this.#now, over) - this.#now;
  }

  #grant(request: W): undefined {
    const [b, rules, now] = [this.#b, this.#rules, this.#now];
    const { caller, lane, lengthy = false } = request;
    sends(b, rules, now, this.#wire);
    this.#queue.serve(request);
    b.seq += 1;
    const id = String(b.seq);
    addHeld(b, now, { id, lane, lengthy, ...(lane !== 'refresh' && { caller }) });
    this.#reserves.changed();
    this.#waits.clear();
    this.#free -= 1;
    if (!lengthy) this.#wire += 1;
    if (lane === 'bulk') {
      jobGoes(b, rules, now);
      this.#jobs += 1;
    }
    this.#granted.push({ request, id });
  }
}

const idle: Stop = { waitMs: Infinity, why: 'idle' };
