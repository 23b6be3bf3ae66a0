import type { Queue, Waiting } from '../queue.ts';
import { cautionMs, sends } from './caution.ts';
import type { KeyBudget, Lane, Rules } from './document.ts';
import { jobDueMs, jobGoes, jobsDue } from './jobs.ts';
import { leftByRefreshes, refreshGoes, refreshMs } from './pace.ts';
import { Reserves } from './reserves.ts';
import { addHeld, comesBack, pausedMs, type Room, roomOf } from './slots.ts';

/** How slots are claimed. */
export interface ClaimOptions {
  /** Number of slots of requests that count; by default those of the document. */
  readonly taken?: number;
  /** Maximum number of slots that are granted; unlimited by default. */
  readonly most?: number;
  /** True if neither refreshes nor requests of the lane `bulk` are sent any more. */
  readonly drains?: boolean;
}

/** The result of a claim. */
export interface ClaimResult<W> {
  /** The requests that got a slot, and the names of the slots. */
  readonly granted: readonly { readonly request: W; readonly id: string }[];
  /**
   * Milliseconds until a further slot is granted, unless the state changes before; infinite while no request waits, or
   * only a change lets one go.
   */
  readonly waitMs: number;
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
  options: ClaimOptions = {},
): ClaimResult<W> {
  let waitMs = pausedMs(b, now);
  const claim = new Claim(b, rules, now, queue, options.drains ?? false, roomOf(b, options.taken));
  const { most = Infinity } = options;
  while (waitMs === 0 && claim.granted.length < most) waitMs = claim.grantNext();
  return { granted: claim.granted, waitMs };
}

class Claim<W extends Waiting> {
  readonly granted: { readonly request: W; readonly id: string }[] = [];
  readonly #b: KeyBudget;
  readonly #rules: Rules;
  readonly #now: number;
  readonly #queue: Queue<W>;
  readonly #drains: boolean;
  /** Free slots, those that are not left to a job, and requests in flight: of all lanes, and of the lane `bulk`. */
  #free: number;
  #left = 0;
  #wire: number;
  #jobs: number;
  /** Until the next slot is granted: which slots are left to others, and milliseconds until a caller may go in a lane. */
  #reserves: Reserves | undefined;
  readonly #waits = new Map<string, number>();
  /** Milliseconds until one of those that may not go may. */
  #waitMs = Infinity;

  constructor(
    b: KeyBudget,
    rules: Rules,
    now: number,
    queue: Queue<W>,
    drains: boolean,
    { free, jobs, wire }: Room,
  ) {
    this.#b = b;
    this.#rules = rules;
    this.#now = now;
    this.#queue = queue;
    this.#drains = drains;
    this.#free = free;
    this.#wire = wire;
    this.#jobs = jobs;
  }

  /** Grants a slot to the request whose turn it is; returns 0, or the milliseconds until one can be granted. */
  grantNext(): number {
    const { bulk, interactive, refresh, write } = this.#queue.sizes;
    const jobs = this.#drains ? 0 : bulk;
    const refreshes = this.#drains ? 0 : refresh;
    if (write + interactive + refreshes + jobs === 0) return Infinity;
    if (this.#free <= 0) return this.#slotMs(-this.#free);
    this.#waitMs = Infinity;
    this.#left = this.#free;
    const dueMs = jobs > 0 ? jobDueMs(this.#b, this.#rules, this.#now) : Infinity;
    if (dueMs === 0 && write === 0) {
      const due = this.#jobs === 0 ? this.#queue.takeBulk(this.#isDue) : undefined;
      if (due) return this.#grants(due);
      // Those that are due after the one in flight.
      if (this.#jobs > 0) {
        this.#left -= Math.min(jobsDue(this.#b, this.#rules, this.#now), jobs);
        if (this.#left <= 0) return this.#slotMs(-this.#left);
      }
    }
    let next = this.#queue.take(this.#mayGo);
    // Nobody waits: refreshes go, then what takes the slots that are left.
    if (write + interactive === 0) {
      if (refreshes > 0) next = this.#takeRefresh();
      // Jobs do not use the slots that refreshes leave to others.
      const isLeft = refreshes === 0 || this.#free > leftByRefreshes(this.#b.limit);
      if (jobs > 0 && this.#jobs === 0 && isLeft) next ??= this.#queue.takeBulk(this.#mayGo);
    }
    if (next) return this.#grants(next);
    return this.#jobs === 0 && dueMs > 0 ? Math.min(this.#waitMs, dueMs) : this.#waitMs;
  }

  /** Takes the most urgent refresh, if one goes now. */
  #takeRefresh(): W | undefined {
    const [b, rules, now] = [this.#b, this.#rules, this.#now];
    const over = leftByRefreshes(b.limit) - this.#free;
    const paceMs = Math.max(refreshMs(b, rules, now), over < 0 ? 0 : this.#slotMs(over));
    this.#waitMs = this.#cautionMs('refresh') || paceMs;
    const [refresh] = this.#waitMs > 0 ? [] : this.#queue.mostUrgent();
    if (!refresh) return undefined;
    refreshGoes(b, rules, now);
    this.#queue.remove(refresh);
    return refresh;
  }

  readonly #mayGo = ({ caller, lane }: W): boolean => {
    const name = lane + caller;
    let waitMs = this.#waits.get(name);
    if (waitMs === undefined) {
      waitMs = this.#cautionMs(lane) || this.#others().waitMs({ caller, lane }, this.#left);
      this.#waits.set(name, waitMs);
    }
    if (waitMs > 0) this.#waitMs = Math.min(this.#waitMs, waitMs);
    return waitMs === 0;
  };

  /** Whether a request of the lane `bulk` goes at the minimum rate. */
  readonly #isDue = ({ caller, lane }: W): boolean => {
    return this.#cautionMs(lane) === 0 && this.#others().quotaLeft(caller) > 0;
  };

  /** What is left to others. */
  #others(): Reserves {
    this.#reserves ??= new Reserves(this.#b, this.#rules, this.#now);
    return this.#reserves;
  }

  #cautionMs(lane: Lane): number {
    return cautionMs(this.#b, this.#rules, this.#now, { lane, wire: this.#wire });
  }

  /** Milliseconds until the slot with `over` others before it is free again. */
  #slotMs(over: number): number {
    return comesBack(this.#b, this.#rules, this.#now, over) - this.#now;
  }

  #grants(request: W): 0 {
    const [b, rules, now] = [this.#b, this.#rules, this.#now];
    const { caller, lane, lengthy = false } = request;
    sends(b, rules, now, this.#wire);
    b.seq += 1;
    const id = String(b.seq);
    addHeld(b, now, { id, lane, lengthy, ...(lane !== 'refresh' && { caller }) });
    this.#reserves = undefined;
    this.#waits.clear();
    this.#free -= 1;
    if (!lengthy) this.#wire += 1;
    if (lane === 'bulk') {
      jobGoes(b, rules, now);
      this.#jobs += 1;
    }
    this.granted.push({ request, id });
    return 0;
  }
}
