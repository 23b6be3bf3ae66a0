import { RedisRefused, RedisUnavailable } from '../../../redis/failures.ts';
import { type AtOnce, inBackground } from '../../../scheduling/at-once.ts';
import type { SharedResult, SlotRequest, Turn } from '../budget.ts';
import type { BudgetView } from '../law/availability.ts';
import type { KeyBudget } from '../law/document.ts';
import { QueuedBudget } from '../queued-budget.ts';
import { Departures, type DeparturesOptions, type Granted } from './departures.ts';
import type { SharedLedger, SharedVerdict, SharedWant } from './shared-ledger.ts';
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
/** While slots are waited for, newcomers are claimed for at most once in this many milliseconds. */
const PACE_MS = 50;
/** So often another replica's request is asked after that was to bring what is waited for here. */
const ASK_AGAIN_MS = 250;
const SHARED: SharedResult = { kind: 'shared' };

/** A request that waits for another replica's. */
interface Parked {
  /** When it is asked after again, on `clock.now()`. */
  askAt: number;
  /** Says what follows from it. */
  readonly goOn: (turn: Turn) => void;
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
  readonly #parked = new Map<SlotRequest, Parked>();
  readonly #rushing = new WeakSet<SlotRequest>();
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
    super(options.clock, options.nameOf);
    this.#options = options;
    this.#ledger = options.ledger;
    this.#departures = new Departures(options);
    this.answersInMs = options.times.callMs;
  }

  /** Names the key's ledger. */
  get name(): string {
    return this.#ledger.name;
  }

  override turn(request: SlotRequest, again?: boolean): AtOnce<Turn> {
    // While slots are waited for, newcomers are told of in good time and not one by one.
    this.#claimAt = Math.min(this.#claimAt, this.#claimedAt + PACE_MS);
    return super.turn(request, again);
  }

  sendNow(request: SlotRequest): void {
    if (this.lanes.position(request) === undefined) return;
    this.#rushing.add(request);
    this.#claimNow();
  }

  /** Another replica's request for a read has ended. */
  endedElsewhere(key: string | null, result: SharedResult | null): void {
    for (const request of [...this.#parked.keys(), ...this.lanes.inOrder()]) {
      const { sharing } = request;
      if (key === null || sharing?.key !== key || sharing.newerThan?.() === Infinity) continue;
      if (result || this.#parked.has(request)) this.#land(request, result);
    }
    this.#claimNow();
  }

  /** Nothing can be asked of the ledger, or it can again: those who wait reckon with that. */
  outageChanged(): void {
    this.tellDelay();
    this.#claimNow();
  }

  protected get budget(): KeyBudget {
    return this.#ledger.known;
  }

  protected get view(): BudgetView {
    const { isOut, quarantineMs } = this.#options;
    const ledger = this.#ledger;
    return {
      budget: ledger.known,
      rules: ledger.rules,
      now: ledger.now,
      // Whatever Redis knows when it is back, nothing of it is older than that.
      get heldMs() {
        return Math.max(quarantineMs(), isOut() ? ledger.holdMs : 0);
      },
      get bids() {
        return [...ledger.bids.values()];
      },
      isAlive: ledger.isAlive,
    };
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
    const { nextId } = this.#options;
    const wanted = this.#wanted().map((request) => ({ id: nextId(), request }));
    if (wanted.length === 0) return;
    this.#claiming = true;
    this.#claimAgain = false;
    this.#claimedAt = clock.now();
    try {
      const wants = wanted.map(({ id, request }, at) => this.#wantOf(id, request, at));
      const parked = wanted.flatMap(({ request }) => (this.#parked.has(request) ? request : []));
      const { seq } = this.#ledger.known.turns;
      const of = { parked, drains: this.drains, seq };
      const claim = await this.#ledger.claim(wants, waitsOf(this.lanes, of));
      const { stopMs, verdicts } = claim.result;
      const next = clock.now() + stopMs;
      this.#claimAt = this.#claimAgain ? Math.min(next, this.#claimedAt + PACE_MS) : next;
      for (const [at, { id, request }] of wanted.entries()) {
        this.#take(request, verdicts[at] ?? '', { id, claim });
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
      for (const { request } of wanted) {
        if (this.#parked.has(request)) this.#land(request, null);
        else request.accepts(this.estimateOf(request));
      }
    } finally {
      this.#claiming = false;
    }
    this.pump();
  }

  /** Those that a claim is for: the first who wait, and those who wait for another replica for long. */
  #wanted(): SlotRequest[] {
    const now = this.clock.now();
    const parked = [...this.#parked].flatMap(([each, { askAt }]) => (askAt <= now ? each : []));
    const wanted = parked.slice(0, MOST_WANTS);
    for (const each of this.lanes.inOrder()) {
      if (wanted.length >= MOST_WANTS) return wanted;
      wanted.push(each);
    }
    if (this.drains) return wanted;
    const refreshes = this.lanes.mostUrgent(Math.min(MOST_REFRESHES, MOST_WANTS - wanted.length));
    return [...wanted, ...refreshes.map(({ refresh }) => refresh)];
  }

  #wantOf(id: string, request: SlotRequest, before: number): SharedWant {
    const rushPast = this.#rushing.has(request) ? before : undefined;
    return wantOf(request, { id, rushPast, caller: this.lanes.callerOf(request) });
  }

  /** What a claim has said of one request. */
  #take(request: SlotRequest, verdict: SharedVerdict, granted: Granted): void {
    const parked = this.#parked.get(request);
    if (verdict === '') {
      if (parked) this.#land(request, null);
      else if (this.lanes.position(request) !== undefined)
        request.accepts(this.estimateOf(request));
      return;
    }
    const waits = parked !== undefined || this.lanes.remove(request);
    // Nobody wants it any more.
    if (!waits) {
      if (verdict === 'go') inBackground(this.#ledger.giveBack(granted.id));
      return;
    }
    this.#options.observer(verdict);
    if (verdict === 'go') this.#goOn(request, this.#slotOf(request, granted));
    else if (verdict === 'landed') this.#goOn(request, { kind: 'landed', result: SHARED });
    else if (parked) parked.askAt = this.clock.now() + ASK_AGAIN_MS;
    else this.#park(request);
  }

  #slotOf(request: SlotRequest, granted: Granted): Turn {
    this.noteUse(granted.id, request);
    return this.#departures.slot(request, granted, {
      released: () => this.#claimSoon(),
      ended: (refused, noted) => {
        this.#claimSoon();
        inBackground(this.#noted(refused, noted));
      },
    });
  }

  /** The ledger knows how a request ended. */
  async #noted(refused: boolean, noted: Promise<void>): Promise<void> {
    await noted;
    if (refused) this.tellDelay();
    this.#claimNow();
  }

  /** Lets a request wait for another replica's. */
  #park(request: SlotRequest): void {
    const next = new Promise<Turn>((goOn) => {
      this.#parked.set(request, { askAt: this.clock.now() + ASK_AGAIN_MS, goOn });
    });
    this.grant(request, { kind: 'elsewhere', next });
  }

  /** Another replica's request has ended; a request that it does not serve asks for another turn. */
  #land(request: SlotRequest, result: SharedResult | null): void {
    this.lanes.remove(request);
    this.#goOn(request, { kind: 'landed', result });
  }

  #goOn(request: SlotRequest, turn: Turn): void {
    const parked = this.#parked.get(request);
    this.#parked.delete(request);
    if (parked) parked.goOn(turn);
    else this.grant(request, turn);
    this.#tellWhetherWaiting();
  }

  /** A slot is free: a request that asks for another turn in this run is claimed for with the others. */
  #claimSoon(): void {
    this.#claimAt = Number.NEGATIVE_INFINITY;
    this.pumpSoon(false);
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
