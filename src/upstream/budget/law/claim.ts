import { Allowances } from './callers/allowances.ts';
import { countToday } from './callers/quotas.ts';
import { Order, type WaitingCounts } from './callers/turns.ts';
import { cautionMs, isStrict, sends } from './caution.ts';
import { type KeyBudget, type Lane, leftByRefreshes, type Rules } from './document.ts';
import { refreshGoes, refreshMs } from './pace.ts';
import { addHeld, comesBack } from './slots.ts';

/** A request that wants a slot. */
export interface WantedSlot {
  /** Name of the slot that it may get. */
  readonly id: string;
  readonly lane: Lane;
  /** See `callerInClass`. */
  readonly caller: string;
  readonly lengthy?: boolean;
  /**
   * Number of requests before it in this process; present if it does not wait for responses that may contain no
   * rate-limit headers.
   */
  readonly rushPast?: number;
  /** Kept with its slot. */
  readonly flight?: unknown;
}

/** The claimable slots. */
interface Room {
  /** Free slots; negative if more are in use than a reduced limit allows. */
  readonly free: number;
  /** Number of requests in flight, see `onWire`. */
  readonly wire: number;
}

/** The process that claims, and the other waiting requests. */
export interface Claimant extends Room {
  readonly owner: string;
  /** All requests that wait here, including those of this claim. */
  readonly waits: WaitingCounts;
  /** The waiting requests of other processes. */
  readonly bids: readonly WaitingCounts[];
}

/** Why no further slot is granted. */
type Why = 'idle' | 'paused' | 'window' | 'caution' | 'refresh' | 'reserve' | 'turn';

/** Until when no further slot is granted, unless the state changes before. */
export interface Stop {
  /** Milliseconds; `null` while no request of this claim waits. */
  readonly waitMs: number | null;
  readonly why: Why;
}

/** The result of a claim. */
export interface ClaimResult extends Stop {
  /** For each want. */
  readonly granted: readonly boolean[];
}

/** After this many milliseconds, it is checked again whether another process has had its turn. */
const TURN_MS = 20;
/** A refresh waits for one in another process whose entry is older than this share of its own. */
const SAME_AGE = 0.8;

/** Why a request of a lane gets no slot now, if slots are `reserved` for those before it; `undefined` if it does. */
export function stopOf(
  b: KeyBudget,
  rules: Rules,
  now: number,
  next: Room & { readonly lane: Lane; readonly reserved?: number },
): Stop | undefined {
  const { free, lane, reserved = 0, wire } = next;
  if (b.pause.until !== null && now < b.pause.until) {
    return { waitMs: b.pause.until - now, why: 'paused' };
  }
  const slotMs = (over: number): number => comesBack(b, rules, now, over) - now;
  if (reserved >= free) return { waitMs: slotMs(reserved - free), why: 'window' };
  const waitMs = cautionMs(b, rules, now, { isWrite: lane === 'write', wire, reserved });
  if (waitMs > 0) return { waitMs, why: 'caution' };
  if (lane !== 'refresh') return undefined;
  const paceMs = refreshMs(b, rules, now);
  if (paceMs > 0) return { waitMs: paceMs, why: 'refresh' };
  const over = leftByRefreshes(b.limit) - free;
  return over < 0 ? undefined : { waitMs: slotMs(over), why: 'refresh' };
}

/**
 * Assigns slots in turn over all processes: first writes, then reads, with callers in turn, then refreshes. If it is
 * the turn of another process, a slot is reserved for it.
 */
export function claimSlots(
  b: KeyBudget,
  rules: Rules,
  now: number,
  wants: readonly WantedSlot[],
  claimant: Claimant,
): ClaimResult {
  return new Claim(b, rules, now, wants, claimant).run();
}

class Claim {
  readonly #b: KeyBudget;
  readonly #rules: Rules;
  readonly #now: number;
  readonly #wants: readonly WantedSlot[];
  readonly #granted: boolean[];
  readonly #claimant: Claimant;
  readonly #order: Order;
  #wire: number;
  #free: number;
  /** Number of slots left to requests that are not part of this claim. */
  #reserved = 0;
  /** Delay before the next claim after those. */
  #leadMs = Infinity;
  #refreshes: number;
  readonly #allowances: Allowances;
  /** Delay before the next claim for callers that leave their slots to others. */
  #reserveMs = Infinity;

  constructor(
    b: KeyBudget,
    rules: Rules,
    now: number,
    wants: readonly WantedSlot[],
    claimant: Claimant,
  ) {
    this.#b = b;
    this.#rules = rules;
    this.#now = now;
    this.#wants = wants;
    this.#granted = wants.map(() => false);
    this.#claimant = claimant;
    this.#wire = claimant.wire;
    this.#free = claimant.free;
    this.#refreshes = claimant.waits.refreshes;
    this.#allowances = new Allowances(b, rules, now);
    this.#order = new Order(b.turns, [claimant.waits, ...claimant.bids], rules);
  }

  /** Grants slots or reserves them for others, until there is a reason to stop. */
  run(): ClaimResult {
    let stop: Stop | undefined;
    while (!stop) {
      this.#reserve();
      let { next } = this.#order;
      const lane: Lane | undefined = next?.lane ?? (this.#refreshes > 0 ? 'refresh' : undefined);
      if (!next && this.#reserveMs < Infinity) stop = { waitMs: this.#reserveMs, why: 'reserve' };
      else if (!lane) stop = { waitMs: null, why: 'idle' };
      else {
        stop = this.#stopOf(lane);
        // The class whose turn it is can wait for a response that writes of other classes do not wait for.
        const write = stop?.why === 'caution' ? this.#order.nextWrite : undefined;
        if (write && !this.#stopOf('write')) [stop, next] = [undefined, write];
        if (stop?.why === 'caution' && this.#rush()) stop = undefined;
        else if (!stop && next) this.#give(next);
        else stop ??= this.#refresh();
      }
    }
    if (this.#leadMs < (stop.waitMs ?? Infinity)) stop = { waitMs: this.#leadMs, why: 'turn' };
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

  /** Assigns a slot to the caller whose turn it is, or reserves one for it. */
  #give({ at, caller, lane }: NonNullable<Order['next']>): void {
    const want = this.#indexOf((each) => each.lane === lane && each.caller === caller);
    if (want >= 0) {
      this.#grant(want, at);
      return;
    }
    this.#reserved += 1;
    this.#order.pass(lane, at);
    const isHere = this.#claimant.waits[lane].some(([each]) => each === caller);
    this.#leadMs = Math.min(this.#leadMs, isHere ? 1 : TURN_MS);
  }

  /** The oldest entry is refreshed first, on whichever process it is requested. */
  #refresh(): Stop | undefined {
    if (this.#reserved > 0) return { waitMs: TURN_MS, why: 'turn' };
    const oldest = this.#claimant.bids.map(({ oldestMs, refreshes }) => (refreshes ? oldestMs : 0));
    if (this.#claimant.waits.oldestMs < SAME_AGE * Math.max(0, ...oldest)) {
      return { waitMs: TURN_MS, why: 'turn' };
    }
    const want = this.#indexOf(({ lane }) => lane === 'refresh');
    if (want < 0) return { waitMs: null, why: 'idle' };
    refreshGoes(this.#b, this.#rules, this.#now);
    this.#refreshes -= 1;
    this.#grant(want);
    return undefined;
  }

  /** Sends a request that cannot wait, if the others wait only because of caution and there are slots for them. */
  #rush(): boolean {
    if (isStrict(this.#b, this.#rules, this.#now)) return false;
    const free = this.#free - this.#reserved;
    const want = this.#indexOf(({ rushPast }) => rushPast !== undefined && rushPast < free);
    const { caller = '', lane = 'refresh' } = this.#wants[want] ?? {};
    if (lane === 'refresh') return false;
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
    sends(this.#b, this.#rules, this.#now, this.#wire);
    this.#order.serve(want.lane, place);
    const caller = want.lane === 'refresh' ? undefined : want.caller;
    addHeld(this.#b, this.#rules, this.#now, { ...want, caller, owner: this.#claimant.owner });
    if (caller !== undefined) countToday(this.#b, this.#rules, this.#now, caller);
    this.#allowances.changed();
    this.#free -= 1;
    if (!want.lengthy) this.#wire += 1;
    this.#granted[at] = true;
  }
}
