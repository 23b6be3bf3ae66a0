import type { Lanes, Waiting } from '../lanes.ts';
import { Allowances } from './callers/allowances.ts';
import { callerInClass, classOf } from './callers/caller-names.ts';
import { ClassTurns } from './callers/class-turns.ts';
import { turnGoes } from './callers/turns.ts';
import { isStrict, sends } from './caution.ts';
import {
  type KeyBudget,
  type Lane,
  leftByRefreshes,
  type Rules,
  type TurnLane,
} from './document.ts';
import { jobDueMs, jobGoes, jobsDue } from './jobs.ts';
import { refreshGoes } from './pace.ts';
import { addHeld, type Room, roomOf } from './slots.ts';
import { type Stop, soonest, stopOf } from './stop.ts';

/** How slots are claimed. */
export interface ClaimOptions<W> {
  /** Number of free slots; by default those of the document. */
  readonly free?: number;
  /** Maximum number of slots that are granted; unlimited by default. */
  readonly most?: number;
  /** True if neither refreshes nor requests of the lane `bulk` are sent any more. */
  readonly drains?: boolean;
  /**
   * Requests that do not wait for responses that may contain no rate-limit headers, and the number of requests before
   * each of them.
   */
  readonly rushing?: ReadonlyMap<W, number>;
}

/** A request that got a slot, and the name of the slot. */
interface Granted<W> {
  readonly request: W;
  readonly id: string;
}

/** The result of a claim. */
export interface ClaimResult<W> extends Stop {
  readonly granted: readonly Granted<W>[];
}

/** A job whose turn is next. */
interface NextJob<W> {
  readonly request: W;
  readonly caller: string;
  /** Whether its last turn had no result: its next one is as at the minimum rate. */
  readonly isDue: boolean;
}

/**
 * Assigns slots in turn: first writes, then reads, with callers in turn, then refreshes, then jobs. A request that gets
 * one leaves the lanes. The turns of `lanes` are those of the document `b`, which was purged.
 */
export function claimSlots<W extends Waiting>(
  b: KeyBudget,
  rules: Rules,
  now: number,
  lanes: Lanes<W>,
  options: ClaimOptions<W> = {},
): ClaimResult<W> {
  const room = roomOf(b);
  const { free = room.free, rushing } = options;
  // Thousands can wait: they are scanned only when one of them can get a slot.
  const { next } = lanes;
  const isRushed = rushing !== undefined && rushing.size > 0;
  const stop = next && !isRushed && stopOf(b, rules, now, { lane: next, ...room, free });
  if (stop) return { ...stop, granted: [] };
  return new Claim(b, rules, now, lanes, { ...options, ...room, free }).run();
}

class Claim<W extends Waiting> {
  readonly #b: KeyBudget;
  readonly #rules: Rules;
  readonly #now: number;
  readonly #lanes: Lanes<W>;
  readonly #options: ClaimOptions<W>;
  readonly #granted: Granted<W>[] = [];
  #wire: number;
  #free: number;
  /** Number of slots left to jobs that wait for the one under way. */
  #reserved = 0;
  readonly #allowances: Allowances;
  /** The callers that leave their slots to others: they have no turn in this claim. */
  readonly #held: Readonly<Record<TurnLane, Set<string>>> = {
    write: new Set(),
    interactive: new Set(),
  };
  /** Delay before the next claim for these callers. */
  #reserveMs = Infinity;
  /** The requests that are first in their class and lane, of the callers that have a turn. */
  #heads = new Map<string, Partial<Record<TurnLane, W>>>();
  /** Number of requests of jobs in flight. */
  #jobs: number;
  #refreshes: W[] | undefined;

  constructor(
    b: KeyBudget,
    rules: Rules,
    now: number,
    lanes: Lanes<W>,
    options: ClaimOptions<W> & Room,
  ) {
    this.#b = b;
    this.#rules = rules;
    this.#now = now;
    this.#lanes = lanes;
    this.#options = options;
    this.#wire = options.wire;
    this.#free = options.free;
    this.#jobs = options.jobs;
    this.#allowances = new Allowances(b, rules, now);
  }

  /** Grants slots until there is a reason to stop. */
  run(): ClaimResult<W> {
    const { most = Infinity } = this.#options;
    let stop: Stop | undefined;
    while (!stop && this.#granted.length < most) {
      this.#heads = this.#lanes.heads(this.#isHeld);
      const next = this.#next();
      if (this.#isJobDue && !this.#hasWrites && !this.#stopOf('bulk')) this.#giveJob();
      else stop = next ? this.#serve(next) : this.#rest();
    }
    return { ...(stop ?? { waitMs: 0, why: 'turn' }), granted: this.#granted };
  }

  #stopOf(lane: Lane): Stop | undefined {
    const at = { lane, free: this.#free, wire: this.#wire, reserved: this.#reserved };
    return stopOf(this.#b, this.#rules, this.#now, at);
  }

  readonly #isHeld = (caller: string, lane: TurnLane): boolean => {
    const free = this.#free - this.#reserved;
    if (this.#allowances.isUsed && free > 0) {
      const waitMs = this.#allowances.waitMs({ caller, lane }, free);
      if (waitMs > 0) {
        this.#reserveMs = Math.min(this.#reserveMs, waitMs);
        this.#held[lane].add(caller);
      }
    }
    return this.#held[lane].has(caller);
  };

  /** Whether a write waits that leaves no slot to others. */
  get #hasWrites(): boolean {
    return [...this.#heads.values()].some(({ write }) => write);
  }

  /** The request whose turn is next, of the classes whose next one is in one of these lanes. */
  #next(lanes: readonly TurnLane[] = ['write', 'interactive']): W | undefined {
    const turns = new ClassTurns(this.#b.turns, this.#rules);
    const nexts = new Map<string, W | undefined>();
    for (const [name, heads] of this.#heads) {
      const { interactive, write } = heads;
      const lane = turns.laneOf(name, { write: write ? 1 : 0, interactive: interactive ? 1 : 0 });
      if (lane && lanes.includes(lane)) nexts.set(name, heads[lane]);
    }
    return nexts.get(turns.next(nexts.keys()) ?? '');
  }

  /** The turn of a request. */
  #serve(next: W): Stop | undefined {
    const stop = this.#stopOf(next.lane);
    // The class whose turn it is can wait for a response that writes of other classes do not wait for.
    const write = stop?.why === 'caution' ? this.#next(['write']) : undefined;
    if (write && !this.#stopOf('write')) this.#grant(write);
    else if (!stop) this.#grant(next);
    else if (stop.why !== 'caution' || !this.#rush()) return stop;
    return undefined;
  }

  /** No caller has a turn: refreshes go, then a job. */
  #rest(): Stop | undefined {
    if (this.#reserveMs < Infinity)
      return this.#untilDue({ waitMs: this.#reserveMs, why: 'reserve' });
    let stop: Stop = { waitMs: null, why: 'idle' };
    if (!this.#options.drains && this.#lanes.size('refresh') > 0) {
      const stopped = this.#stopOf('refresh') ?? this.#refresh();
      if (!stopped) return undefined;
      // Jobs do not use the slots that refreshes leave to others.
      const isPaced = this.#free - this.#reserved > leftByRefreshes(this.#b.limit);
      if (stopped.why !== 'refresh' || !isPaced) return this.#untilDue(stopped);
      stop = stopped;
    }
    return this.#serveJob(stop);
  }

  /** The most urgent refresh is first. */
  #refresh(): Stop | undefined {
    if (this.#reserved > 0) return { waitMs: null, why: 'turn' };
    this.#refreshes ??= this.#lanes.mostUrgent(Infinity).map(({ refresh }) => refresh);
    const refresh = this.#refreshes.shift();
    if (!refresh) return { waitMs: null, why: 'idle' };
    refreshGoes(this.#b, this.#rules, this.#now);
    this.#grant(refresh);
    return undefined;
  }

  /** The job whose turn is next: of the classes that have slots left of their limits, if there are any. */
  get #job(): NextJob<W> | undefined {
    if (this.#options.drains) return undefined;
    const heads = this.#lanes.bulkHeads;
    return heads.find(({ caller }) => this.#allowances.quotaLeft(caller) > 0) ?? heads[0];
  }

  /** Milliseconds until the job whose turn is next goes before reads. */
  get #jobDueMs(): number {
    const job = this.#reserved > 0 ? undefined : this.#job;
    if (!job) return Infinity;
    const quotaMs = this.#allowances.quotaMs(job.caller);
    const isDue = job.isDue && this.#jobs === 0;
    return Math.max(quotaMs, isDue ? 0 : jobDueMs(this.#b, this.#rules, this.#now));
  }

  get #isJobDue(): boolean {
    return this.#jobDueMs === 0;
  }

  /** Assigns a slot to the job whose turn is next; if another is under way, reserves one for each whose turn is due. */
  #giveJob(): void {
    const job = this.#job;
    if (job && this.#jobs === 0) {
      this.#grant(job.request);
      return;
    }
    let waiting = 0;
    for (const [name, count] of this.#lanes.bulkSizes) {
      waiting += Math.min(count, this.#allowances.quotaLeft(callerInClass('', name)));
    }
    this.#reserved = Math.min(jobsDue(this.#b, this.#rules, this.#now), waiting);
  }

  /** A job goes in a slot that is left. Otherwise returns what happens first. */
  #serveJob(stop: Stop): Stop | undefined {
    const job = this.#job;
    // The end of the one under way leads to the next claim.
    if (!job || this.#jobs > 0) return stop;
    const stopped = this.#stopOf('bulk');
    if (stopped) return soonest(stop, stopped);
    const waitMs = this.#allowances.waitMs({ caller: job.caller, lane: 'bulk' }, this.#free);
    if (waitMs > 0) return this.#untilDue(soonest(stop, { waitMs, why: 'reserve' }));
    this.#grant(job.request);
    return undefined;
  }

  /** A reason to stop, or the time at which a job goes in spite of it. */
  #untilDue(stop: Stop): Stop {
    const dueMs = this.#jobs > 0 ? Infinity : this.#jobDueMs;
    return dueMs > 0 && dueMs < Infinity ? soonest(stop, { waitMs: dueMs, why: 'turn' }) : stop;
  }

  /** Sends a request that cannot wait, if the others wait only because of caution and there are slots for them. */
  #rush(): boolean {
    if (isStrict(this.#b, this.#rules, this.#now)) return false;
    const free = this.#free - this.#reserved;
    for (const [request, before] of this.#options.rushing ?? []) {
      const { caller, lane } = request;
      if (before >= free || this.#lanes.position(request) === undefined) continue;
      if (lane === 'refresh' || lane === 'bulk' || this.#held[lane].has(caller)) continue;
      this.#grant(request);
      return true;
    }
    return false;
  }

  #grant(request: W): void {
    const [b, rules, now, lanes] = [this.#b, this.#rules, this.#now, this.#lanes];
    const { caller, lane, lengthy = false } = request;
    const name = classOf(caller);
    sends(b, rules, now, this.#wire);
    b.turns.seq += 1;
    const id = String(b.turns.seq);
    const isAgain = lanes.isAgain(request);
    lanes.remove(request, true);
    if (lane === 'write' || lane === 'interactive') {
      const readsWait = this.#heads.get(name)?.interactive !== undefined;
      const waits = (each: string): boolean => lanes.hasCaller(lane, each);
      turnGoes(b.turns, rules, { lane, caller, isAgain, readsWait, waits });
    }
    addHeld(b, now, { id, lane, lengthy, ...(lane !== 'refresh' && { caller }) });
    this.#allowances.changed();
    this.#free -= 1;
    if (!lengthy) this.#wire += 1;
    if (lane === 'bulk') {
      jobGoes(b, rules, now, name);
      this.#jobs += 1;
    }
    this.#granted.push({ request, id });
  }
}
