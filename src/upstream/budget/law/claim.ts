import { Allowances } from './callers/allowances.ts';
import { BulkTurns } from './callers/bulk-turns.ts';
import { classOf } from './callers/caller-names.ts';
import { countToday } from './callers/quotas.ts';
import { type NextTurn, Order, type WaitingCounts } from './callers/turns.ts';
import { isStrict, sends } from './caution.ts';
import { type KeyBudget, type Lane, leftByRefreshes, type Rules } from './document.ts';
import { jobDueMs, jobGoes, jobsDue } from './jobs.ts';
import { refreshGoes } from './pace.ts';
import { addHeld, type Room } from './slots.ts';
import { type Stop, soonest, stopOf } from './stop.ts';

/** A request that wants a slot. */
export interface WantedSlot {
  /** Name of the slot that it may get. */
  readonly id: string;
  readonly lane: Lane;
  /** See `callerInClass`. */
  readonly caller: string;
  readonly lengthy?: boolean;
  /** Number of requests before it; present if it does not wait for responses that may contain no rate-limit headers. */
  readonly rushPast?: number;
  /** Whether a request in the lane `bulk` has had a turn without a result: its next one is as at the minimum rate. */
  readonly isDue?: boolean;
}

/** The claimable slots, and all waiting requests. */
export interface ClaimState extends Room {
  /** Including those of this claim. */
  readonly waits: WaitingCounts;
}

/** A job whose turn is next. */
interface NextJob {
  /** Any caller of its class. */
  readonly caller: string;
  /** The index of its want; `null` if it is not part of this claim, see `Claim.#job`. */
  readonly at: number | null;
}

/** The result of a claim. */
export interface ClaimResult extends Stop {
  /** For each want. */
  readonly granted: readonly boolean[];
}

/** Assigns slots in turn: first writes, then reads, with callers in turn, then refreshes, then jobs. */
export function claimSlots(
  b: KeyBudget,
  rules: Rules,
  now: number,
  wants: readonly WantedSlot[],
  state: ClaimState,
): ClaimResult {
  return new Claim(b, rules, now, wants, state).run();
}

class Claim {
  readonly #b: KeyBudget;
  readonly #rules: Rules;
  readonly #now: number;
  readonly #wants: readonly WantedSlot[];
  readonly #granted: boolean[];
  readonly #order: Order;
  #wire: number;
  #free: number;
  /** Number of slots left to requests that are not part of this claim. */
  #reserved = 0;
  /** Whether a caller has a turn with one of those. */
  #isCallerLater = false;
  #refreshes: number;
  readonly #allowances: Allowances;
  /** Delay before the next claim for callers that leave their slots to others. */
  #reserveMs = Infinity;
  /** Number of requests of jobs in flight. */
  #jobs: number;
  readonly #bulk: BulkTurns;
  #isJobReserved = false;

  constructor(
    b: KeyBudget,
    rules: Rules,
    now: number,
    wants: readonly WantedSlot[],
    state: ClaimState,
  ) {
    this.#b = b;
    this.#rules = rules;
    this.#now = now;
    this.#wants = wants;
    this.#granted = wants.map(() => false);
    this.#wire = state.wire;
    this.#free = state.free;
    this.#refreshes = state.waits.refreshes;
    this.#jobs = state.jobs;
    this.#bulk = new BulkTurns(state.waits.bulk);
    this.#allowances = new Allowances(b, rules, now);
    this.#order = new Order(b.turns, state.waits, rules);
  }

  /** Grants slots or reserves them for others, until there is a reason to stop. */
  run(): ClaimResult {
    let stop: Stop | undefined;
    while (!stop) {
      this.#reserve();
      const { next } = this.#order;
      if (this.#isJobDue && !this.#order.hasWrites && !this.#stopOf('bulk')) this.#giveJob();
      else stop = next ? this.#serve(next) : this.#rest();
    }
    if (this.#isCallerLater) stop = soonest(stop, { waitMs: 1, why: 'turn' });
    return { ...stop, granted: this.#granted };
  }

  #stopOf(lane: Lane): Stop | undefined {
    const at = { lane, free: this.#free, wire: this.#wire, reserved: this.#reserved };
    return stopOf(this.#b, this.#rules, this.#now, at);
  }

  /** Lets callers wait that leave the free slots to others; these have no turn in this claim. */
  #reserve(): void {
    const free = this.#free - this.#reserved;
    if (!this.#allowances.isUsed || free <= 0) return;
    this.#order.hold((caller, lane) => {
      const waitMs = this.#allowances.waitMs({ caller, lane }, free);
      if (waitMs > 0) this.#reserveMs = Math.min(this.#reserveMs, waitMs);
      return waitMs > 0;
    });
  }

  /** The turn of a caller. */
  #serve(next: NextTurn): Stop | undefined {
    const stop = this.#stopOf(next.lane);
    // The class whose turn it is can wait for a response that writes of other classes do not wait for.
    const write = stop?.why === 'caution' ? this.#order.nextWrite : undefined;
    if (write && !this.#stopOf('write')) this.#give(write);
    else if (!stop) this.#give(next);
    else if (stop.why !== 'caution' || !this.#rush()) return stop;
    return undefined;
  }

  /** Assigns a slot to the caller whose turn it is, or reserves one for it. */
  #give({ at, caller, lane }: NextTurn): void {
    const want = this.#indexOf((each) => each.lane === lane && each.caller === caller);
    if (want >= 0) {
      this.#grant(want, at);
      return;
    }
    this.#reserved += 1;
    this.#order.pass(lane, at);
    this.#isCallerLater = true;
  }

  /** No caller has a turn: refreshes go, then a job. */
  #rest(): Stop | undefined {
    if (this.#reserveMs < Infinity)
      return this.#untilDue({ waitMs: this.#reserveMs, why: 'reserve' });
    const hasJob = this.#indexOf(isOfJob) >= 0;
    let stop: Stop = { waitMs: null, why: 'idle' };
    if (this.#refreshes > 0) {
      const stopped = this.#stopOf('refresh') ?? this.#refresh();
      if (!stopped) return undefined;
      // Jobs do not use the slots that refreshes leave to others.
      const isPaced = this.#free - this.#reserved > leftByRefreshes(this.#b.limit);
      if (stopped.why !== 'refresh' || !isPaced) return this.#untilDue(stopped);
      stop = stopped;
    }
    return hasJob ? this.#serveJob(stop) : stop;
  }

  /** The oldest entry is refreshed first. */
  #refresh(): Stop | undefined {
    if (this.#reserved > 0) return { waitMs: null, why: 'turn' };
    const want = this.#indexOf(({ lane }) => lane === 'refresh');
    if (want < 0) return { waitMs: null, why: 'idle' };
    refreshGoes(this.#b, this.#rules, this.#now);
    this.#refreshes -= 1;
    this.#grant(want);
    return undefined;
  }

  /**
   * The job whose turn is next; one that is not part of this claim if another job is under way. `null` if there is none,
   * or slots are reserved for all.
   */
  get #job(): NextJob | null {
    if (this.#isJobReserved) return null;
    const due = this.#wants[this.#indexOf((want) => isOfJob(want) && want.isDue === true)];
    const next = this.#bulk.next(this.#b, { due: due?.caller, quotaLeft: this.#quotaLeft });
    if (!next) return null;
    const { caller, name } = next;
    const at = this.#indexOf((want) => isOfJob(want) && classOf(want.caller) === name);
    return { caller, at: this.#jobs > 0 || at < 0 ? null : at };
  }

  readonly #quotaLeft = (caller: string): number => this.#allowances.quotaLeft(caller);

  /** Milliseconds until the job whose turn is next goes before reads. */
  get #jobDueMs(): number {
    const job = this.#job;
    if (job === null) return Infinity;
    const want = job.at === null ? undefined : this.#wants[job.at];
    const quotaMs = this.#allowances.quotaMs(job.caller);
    return Math.max(quotaMs, want?.isDue ? 0 : jobDueMs(this.#b, this.#rules, this.#now));
  }

  get #isJobDue(): boolean {
    return this.#jobDueMs === 0;
  }

  /** Assigns a slot to the job whose turn is next, or reserves one for it, and for all whose turn is due. */
  #giveJob(): void {
    const at = this.#job?.at ?? null;
    if (at !== null) {
      this.#grant(at);
      return;
    }
    const due = jobsDue(this.#b, this.#rules, this.#now);
    this.#reserved += Math.min(due, this.#bulk.countOf(this.#quotaLeft));
    this.#isJobReserved = true;
  }

  /** A job goes in a slot that is left. Otherwise returns what happens first. */
  #serveJob(stop: Stop): Stop | undefined {
    const job = this.#job;
    // The end of the one under way leads to the next claim.
    if (!job || job.at === null) return stop;
    const stopped = this.#stopOf('bulk');
    if (stopped) return soonest(stop, stopped);
    const free = this.#free - this.#reserved;
    const waitMs = this.#allowances.waitMs({ caller: job.caller, lane: 'bulk' }, free);
    if (waitMs > 0) return this.#untilDue(soonest(stop, { waitMs, why: 'reserve' }));
    this.#grant(job.at);
    return undefined;
  }

  /** A reason to stop, or the time at which a job goes in spite of it. */
  #untilDue(stop: Stop): Stop {
    const dueMs = typeof this.#job?.at === 'number' ? this.#jobDueMs : Infinity;
    return dueMs > 0 && dueMs < Infinity ? soonest(stop, { waitMs: dueMs, why: 'turn' }) : stop;
  }

  /** Sends a request that cannot wait, if the others wait only because of caution and there are slots for them. */
  #rush(): boolean {
    if (isStrict(this.#b, this.#rules, this.#now)) return false;
    const free = this.#free - this.#reserved;
    const want = this.#indexOf(({ rushPast }) => rushPast !== undefined && rushPast < free);
    const { caller = '', lane = 'refresh' } = this.#wants[want] ?? {};
    if (lane === 'refresh' || lane === 'bulk') return false;
    const at = this.#order.placeOf(lane, caller);
    if (at < 0) return false;
    this.#grant(want, at);
    return true;
  }

  #indexOf(isMeant: (want: WantedSlot) => boolean): number {
    return this.#wants.findIndex((want, at) => !this.#granted[at] && isMeant(want));
  }

  #grant(at: number, place = 0): void {
    const want = this.#wants[at];
    if (!want) return;
    const [b, rules, now] = [this.#b, this.#rules, this.#now];
    sends(b, rules, now, this.#wire);
    this.#order.serve(want.lane, place);
    const caller = want.lane === 'refresh' ? undefined : want.caller;
    addHeld(b, now, { ...want, caller });
    if (caller !== undefined) countToday(b, rules, now, caller);
    this.#allowances.changed();
    this.#free -= 1;
    if (!want.lengthy) this.#wire += 1;
    if (want.lane === 'bulk') {
      const callerClass = classOf(want.caller);
      jobGoes(b, rules, now, callerClass);
      this.#bulk.take(callerClass);
      this.#jobs += 1;
    }
    this.#granted[at] = true;
  }
}

function isOfJob({ lane }: WantedSlot): boolean {
  return lane === 'bulk';
}
