import { inBackground } from '../../../at-once.ts';
import type { Moment } from '../../../clock.ts';
import { RedisRefused, RedisUnavailable } from '../../../redis/failures.ts';
import type {
  SharedClaim,
  SharedLedger,
  SharedVerdict,
  Want,
} from '../../../redis/shared-ledger.ts';
import type { BudgetState, BudgetWindow, Job, Permit, Upshot } from '../budget.ts';
import { QueuedBudget } from '../queued-budget.ts';
import { Departures, type DeparturesOptions } from './departures.ts';
import { sharedForecast } from './shared-forecast.ts';
import { OwnSlots, sharedWindow } from './shared-window.ts';
import { waitsOf, wantOf } from './wants.ts';

/** What a budget that replicas share needs of the world. */
export interface SharedBudgetOptions extends DeparturesOptions {
  /** A name for the next permit, unlike all others. */
  readonly nextId: () => string;
  /** Whether nothing can be asked of the ledger, for longer than a moment. */
  readonly isOut: () => boolean;
  /** Milliseconds for which nothing is sent, since it is not known what was. */
  readonly quarantineMs: () => number;
  /** What stands for a caller where others can read. */
  readonly nameOf: (caller: string) => string;
  /** Told when something waits here from now on, or nothing does any more. */
  readonly waits: (budget: SharedBudget, does: boolean) => void;
}

/** Most requests that are claimed for at a time. */
const MOST_WANTS = 12;
/** Among them, most refreshes. */
const MOST_REFRESHES = 3;
/** While slots are waited for, newcomers are claimed for at most once in so many milliseconds. */
const PACE_MS = 50;
/** So often another replica's request is asked after that was to bring what is waited for here. */
const ASK_AGAIN_MS = 250;
/** Longest time without asking again, in milliseconds: what was bid for runs out. */
const LONGEST_STOP_MS = 1000;

/** A job that waits for another replica's request. */
interface Parked {
  /** When it is asked after again, on `clock.now()`. */
  askAt: number;
}

/**
 * The budget of a key that several replicas share. Requests wait here, in their own order; a claim asks the
 * ledger for permits for the first of them, which are given to whoever's turn it is over all replicas. A read that
 * another replica asks just now takes no slot: its answer is waited for.
 */
export class SharedBudget extends QueuedBudget {
  readonly answersInMs: number;
  readonly #options: SharedBudgetOptions;
  readonly #ledger: SharedLedger;
  readonly #departures: Departures;
  readonly #own = new OwnSlots();
  readonly #parked = new Map<Job, Parked>();
  readonly #rushing = new WeakSet<Job>();
  /** Those for whom another replica's answer was of no use: they want a request of their own. */
  readonly #alone = new WeakSet<Job>();
  #claiming = false;
  #claimAgain = false;
  /** No claim before that, on `clock.now()`. */
  #claimAt = Number.NEGATIVE_INFINITY;
  #claimedAt = Number.NEGATIVE_INFINITY;
  #cancelWake = (): void => {};
  /** Whether a claim is about to be made in this turn. */
  #isDue = false;
  #waited = false;

  constructor(options: SharedBudgetOptions) {
    super(options.clock);
    this.#options = options;
    this.#ledger = options.ledger;
    this.#departures = new Departures(options);
    this.answersInMs = options.times.callMs;
  }

  /** Names the key's ledger. */
  get name(): string {
    return this.#ledger.name;
  }

  override enqueue(job: Job): void {
    // While slots are waited for, newcomers are told of in good time and not one by one.
    this.#claimAt = Math.min(this.#claimAt, this.#claimedAt + PACE_MS);
    super.enqueue(job);
  }

  rush(job: Job): void {
    if (this.lanes.position(job) === undefined) return;
    this.#rushing.add(job);
    this.#claimNow();
  }

  /** Another replica's request for a read has ended. */
  endedElsewhere(key: string | null, upshot: Upshot | null): void {
    for (const job of [...this.#parked.keys(), ...this.lanes.inOrder()]) {
      if (key === null || job.sharing?.key !== key || this.#alone.has(job)) continue;
      if (upshot) inBackground(this.#land(job, upshot));
      else if (this.#parked.has(job)) this.#return(job);
    }
    this.#claimNow();
  }

  /** Nothing can be asked of the ledger, or it can again: those who wait reckon with that. */
  outageChanged(): void {
    this.tellDelay();
    this.#claimNow();
  }

  get state(): BudgetState {
    const forecast = this.#forecast;
    const writeInMs = (): number => this.estimate('write', '');
    return {
      limit: forecast.limit,
      used: Math.min(forecast.limit, forecast.used),
      remaining: forecast.heldMs > 0 ? 0 : Math.max(0, forecast.limit - forecast.used),
      queued: this.lanes.waiting,
      resetInMs:
        forecast.clearMs === 0 && forecast.heldMs === 0
          ? null
          : Math.max(forecast.clearMs, forecast.heldMs),
      // Few ask for it.
      get writeInMs() {
        return writeInMs();
      },
    };
  }

  get window(): BudgetWindow {
    return sharedWindow(this.#ledger.view, this.#own, this.clock.now());
  }

  get pausedMs(): number {
    return this.#forecast.pausedMs;
  }

  get idle(): boolean {
    if (this.lanes.waiting > 0) return false;
    const { bids, heldMs, limit, reserve, used } = this.#forecast;
    return heldMs === 0 && bids === 0 && limit - used > reserve;
  }

  get refreshesPerWindow(): number {
    const { limit, reserve } = this.#forecast;
    return Math.max(1, limit - reserve);
  }

  get windowMs(): number {
    return this.#ledger.windowMs;
  }

  protected get latencyMs(): number {
    return this.#ledger.view.latencyMs;
  }

  protected estimateAt(position: number): number {
    return this.#forecast.availableIn(position, this.lanes.counts('interactive').size);
  }

  get #forecast() {
    const { isOut, quarantineMs } = this.#options;
    return sharedForecast(this.#ledger, {
      now: this.clock.now(),
      isOut: isOut(),
      quarantineMs: quarantineMs(),
    });
  }

  protected pump(): void {
    this.#tellWhetherWaiting();
    if (this.#claiming || this.#isDue) {
      this.#claimAgain = true;
      return;
    }
    const restMs = this.#nextClaimIn();
    if (restMs === null) return;
    if (restMs > 0) {
      this.#wakeIn(restMs);
      return;
    }
    // What is asked for in one turn is claimed for together.
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      inBackground(this.#claim());
    });
  }

  #claimNow(): void {
    this.#claimAt = Number.NEGATIVE_INFINITY;
    this.pump();
  }

  /** Milliseconds until there is something to claim for; `null` when nothing waits. */
  #nextClaimIn(): number | null {
    const now = this.clock.now();
    let at = Number.POSITIVE_INFINITY;
    const refreshes = this.drains ? 0 : this.lanes.size('refresh');
    if (this.lanes.size('write') + this.lanes.size('interactive') + refreshes > 0)
      at = this.#claimAt;
    for (const { askAt } of this.#parked.values()) at = Math.min(at, askAt);
    return at === Number.POSITIVE_INFINITY ? null : Math.max(0, at - now);
  }

  async #claim(): Promise<void> {
    const { clock } = this;
    const { nameOf, nextId } = this.#options;
    const wanted = this.#wanted().map((job) => ({ id: nextId(), job }));
    if (wanted.length === 0) return;
    this.#claiming = true;
    this.#claimAgain = false;
    const sent = { now: clock.now(), wall: clock.wall() };
    this.#claimedAt = sent.now;
    try {
      const wants = wanted.map(({ id, job }) => this.#wantOf(id, job));
      const parked = wanted.map(({ job }) => job).filter((job) => this.#parked.has(job));
      const waits = waitsOf(this.lanes, { parked, drains: this.drains, nameOf });
      const claim = await this.#ledger.claim(wants, waits);
      const next = clock.now() + Math.min(claim.stopMs, LONGEST_STOP_MS);
      this.#claimAt = this.#claimAgain ? Math.min(next, sent.now + PACE_MS) : next;
      for (const [at, each] of wanted.entries()) {
        this.#take(each.id, each.job, claim.verdicts[at] ?? '', claim, sent);
      }
      // Where all were served, whoever comes next is claimed for at once.
      if (this.lanes.waiting === 0) this.#claimAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      if (!(error instanceof RedisUnavailable || error instanceof RedisRefused)) throw error;
      // What was claimed may have been given: these permits are not used, whenever that shows.
      if (error instanceof RedisUnavailable && error.doubtful) {
        for (const { id } of wanted) {
          this.#options.observer('doubtful');
          inBackground(this.#ledger.giveBack(id));
        }
      }
      this.#claimAt = clock.now() + this.#options.times.beatMs;
      for (const { job } of wanted) {
        if (this.#parked.has(job)) this.#return(job);
        else job.delayed(this.estimateOf(job));
      }
    } finally {
      this.#claiming = false;
    }
    this.pump();
  }

  /** Those that a claim is for: the first who wait, and those who wait for another replica for long. */
  #wanted(): Job[] {
    const now = this.clock.now();
    const parked = [...this.#parked].filter(([, { askAt }]) => askAt <= now).map(([job]) => job);
    const wanted = parked.slice(0, MOST_WANTS);
    for (const job of this.lanes.inOrder()) {
      if (wanted.length >= MOST_WANTS) return wanted;
      wanted.push(job);
    }
    if (this.drains) return wanted;
    const refreshes = this.lanes.mostUrgent(Math.min(MOST_REFRESHES, MOST_WANTS - wanted.length));
    return [...wanted, ...refreshes.map(({ refresh }) => refresh)];
  }

  #wantOf(id: string, job: Job): Want {
    const alone = this.#alone.has(job);
    const rush = this.#rushing.has(job);
    return wantOf(job, { id, alone, rush, caller: this.#options.nameOf(job.caller) });
  }

  /** What a claim has said of one job. */
  #take(id: string, job: Job, verdict: SharedVerdict, claim: SharedClaim, sent: Moment): void {
    const wasParked = this.#parked.delete(job);
    if (verdict === '') {
      if (wasParked) this.putBack(job);
      else if (this.lanes.position(job) !== undefined) job.delayed(this.estimateOf(job));
      return;
    }
    const waits = wasParked || this.lanes.take(job);
    // Nobody wants it any more.
    if (!waits) {
      if (verdict === 'go') inBackground(this.#ledger.giveBack(id));
      return;
    }
    this.#options.observer(verdict);
    if (!wasParked) job.dispatched();
    if (verdict === 'go') {
      inBackground(this.#send(job, this.#departures.permit(id, claim, sent), claim.epoch));
    } else {
      this.#parked.set(job, { askAt: this.clock.now() + ASK_AGAIN_MS });
      if (verdict === 'landed') inBackground(this.#land(job, { kind: 'shared' }));
    }
  }

  async #send(job: Job, permit: Permit, epoch: string): Promise<void> {
    this.#own.forget(this.clock.now() - this.windowMs - this.#options.times.marginMs);
    const slot = this.#own.begin(job);
    const { attempted, told } = await this.#departures.send(job, permit, epoch);
    if (attempted === 'unsent' || attempted === 'late') slot.unsent();
    else slot.ended(this.clock.now());
    if (attempted !== 'unsent' && attempted !== 'done') this.putBack(job);
    this.#claimNow();
    await told;
    if (attempted === 'refused') this.tellDelay();
    this.#claimNow();
  }

  /** Looks whether another replica's request serves a job that waits. */
  async #land(job: Job, upshot: Upshot): Promise<void> {
    if (await job.sharing?.landed?.(upshot)) {
      this.#parked.delete(job);
      this.lanes.remove(job);
      this.#tellWhetherWaiting();
      return;
    }
    if (upshot.kind === 'shared') this.#alone.add(job);
    if (this.#parked.has(job)) this.#return(job);
    this.pump();
  }

  /** What it waited for elsewhere came to nothing. */
  #return(job: Job): void {
    this.#parked.delete(job);
    this.putBack(job);
  }

  #tellWhetherWaiting(): void {
    const does = this.lanes.waiting + this.#parked.size > 0;
    if (does === this.#waited) return;
    this.#waited = does;
    this.#options.waits(this, does);
  }

  #wakeIn(ms: number): void {
    this.#cancelWake();
    this.#cancelWake = this.clock.after(Math.max(1, Math.ceil(ms)), () => this.pump());
  }
}
