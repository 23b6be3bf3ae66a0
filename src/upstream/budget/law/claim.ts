import { cautionMs, isStrict, sends } from './caution.ts';
import {
  type HeldSlot,
  type KeyBudget,
  type Lane,
  type Rules,
  refreshBurst,
  reserveOf,
} from './document.ts';
import { comesBack, onWire } from './slots.ts';
import {
  type CallerWaits,
  inARowAfter,
  Order,
  type TurnPlace,
  type WaitingCounts,
} from './turns.ts';

/** A request that wants a slot. */
export interface WantedSlot {
  /** Names the slot that it may get. */
  readonly id: string;
  readonly lane: Lane;
  readonly caller: string;
  readonly lengthy?: boolean;
  /** This many wait before it in this process; present where it does not wait for answers that may say nothing. */
  readonly rushPast?: number;
  /** Kept with its slot. */
  readonly flight?: unknown;
}

/** Who claims, and what else waits. */
export interface Claimant {
  readonly owner: string;
  /** Slots that are free; negative where more count than the limit, after it has shrunk. */
  readonly free: number;
  /** All that waits here, those included that are claimed for. */
  readonly waits: WaitingCounts;
  /** What waits in other processes. */
  readonly bids: readonly WaitingCounts[];
  /** Whether another process is heard of. */
  readonly isAlive: (owner: string) => boolean;
}

/** Why nothing more is granted. */
type Why = 'idle' | 'paused' | 'window' | 'caution' | 'refresh' | 'turn';

/** Until when nothing more is granted, unless something changes before. */
export interface Stop {
  /** Milliseconds; `null` while nothing waits that this process has claimed for. */
  readonly waitMs: number | null;
  readonly why: Why;
}

/** What came of a claim. */
export interface ClaimResult extends Stop {
  /** For each want. */
  readonly granted: readonly boolean[];
}

/** After this many milliseconds it is asked again whether another process has had its turn. */
const TURN_MS = 20;
/** A refresh waits for one in another process whose answer is older than this share of its own. */
const SAME_AGE = 0.8;

/** Why a request of a lane would have no slot now; `undefined` when it would. */
export function stopOf(
  b: KeyBudget,
  rules: Rules,
  now: number,
  next: {
    readonly lane: Lane;
    readonly free: number;
    readonly wire: number;
    readonly reserved: number;
  },
): Stop | undefined {
  const { free, lane, reserved, wire } = next;
  if (b.pause.until !== null && now < b.pause.until) {
    return { waitMs: b.pause.until - now, why: 'paused' };
  }
  const over = reserved - free;
  if (over >= 0) return { waitMs: comesBack(b, rules, now, over) - now, why: 'window' };
  const waitMs = cautionMs(b, rules, now, { isWrite: lane === 'write', wire, reserved });
  if (waitMs > 0) return { waitMs, why: 'caution' };
  return lane === 'refresh' ? refreshStop(b, rules, now, free) : undefined;
}

/**
 * Gives slots to those whose turn it is, over all processes: writes, then reads, callers in turn, then refreshes. Where
 * it is the turn of another process, a slot is left to it.
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
  readonly #order: Order<TurnPlace>;
  #wire: number;
  #free: number;
  /** Slots left to requests that are not claimed for. */
  #reserved = 0;
  /** How soon to ask again after those. */
  #leadMs = Infinity;
  #refreshes: number;

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
    const all = [claimant.waits, ...claimant.bids];
    this.#order = new Order(b.turns, {
      write: placesOf(all.map(({ write }) => write)),
      interactive: placesOf(all.map(({ interactive }) => interactive)),
    });
    this.#wire = onWire(b, claimant.isAlive);
    this.#free = claimant.free;
    this.#refreshes = claimant.waits.refreshes;
  }

  run(): ClaimResult {
    let stop: Stop | undefined;
    while (!stop) stop = this.#step();
    if (this.#leadMs < (stop.waitMs ?? Infinity)) stop = { waitMs: this.#leadMs, why: 'turn' };
    return { ...stop, granted: this.#granted };
  }

  /** Gives one slot, or leaves one to another; answers why it does neither. */
  #step(): Stop | undefined {
    const next = this.#order.peek();
    const lane: Lane | undefined = next?.lane ?? (this.#refreshes > 0 ? 'refresh' : undefined);
    if (!lane) return { waitMs: null, why: 'idle' };
    const at = { lane, free: this.#free, wire: this.#wire, reserved: this.#reserved };
    const stop = stopOf(this.#b, this.#rules, this.#now, at);
    if (stop) return stop.why === 'caution' && this.#rush() ? undefined : stop;
    if (!next) return this.#refresh();
    const { caller } = next.place;
    const want = this.#indexOf((each) => each.lane === lane && each.caller === caller);
    if (want >= 0) {
      this.#grant(want);
      this.#order.take(next.lane);
      this.#noteServed(next.lane, next.place);
    } else {
      this.#reserved += 1;
      this.#order.take(next.lane);
      const isHere = this.#claimant.waits[next.lane].some(([each]) => each === caller);
      this.#leadMs = Math.min(this.#leadMs, isHere ? 1 : TURN_MS);
    }
    return undefined;
  }

  /** The oldest answer is refreshed first, wherever that is asked for. */
  #refresh(): Stop | undefined {
    if (this.#reserved > 0) return { waitMs: TURN_MS, why: 'turn' };
    const oldest = this.#claimant.bids.map(({ oldestMs, refreshes }) => (refreshes ? oldestMs : 0));
    if (this.#claimant.waits.oldestMs < SAME_AGE * Math.max(0, ...oldest)) {
      return { waitMs: TURN_MS, why: 'turn' };
    }
    const want = this.#indexOf(({ lane }) => lane === 'refresh');
    if (want < 0) return { waitMs: null, why: 'idle' };
    const { pace } = this.#b;
    pace.tokens = tokensAt(this.#b, this.#rules, this.#now) - 1;
    pace.at = this.#now;
    this.#refreshes -= 1;
    this.#grant(want);
    return undefined;
  }

  /** Lets one go that cannot wait, where it is mere caution that holds the others, and there are slots for those. */
  #rush(): boolean {
    if (isStrict(this.#b, this.#rules, this.#now)) return false;
    const free = this.#free - this.#reserved;
    const want = this.#indexOf(({ rushPast }) => rushPast !== undefined && rushPast < free);
    const { caller = '', lane = 'refresh' } = this.#wants[want] ?? {};
    if (lane === 'refresh') return false;
    const at = this.#order.rounds[lane].findIndex((place) => place.caller === caller);
    if (at < 0) return false;
    const place = this.#order.rounds[lane][at];
    this.#grant(want);
    this.#order.take(lane, at);
    if (place) this.#noteServed(lane, place);
    return true;
  }

  #indexOf(isMeant: (want: WantedSlot) => boolean): number {
    return this.#wants.findIndex((want, at) => !this.#granted[at] && isMeant(want));
  }

  #grant(at: number): void {
    const want = this.#wants[at];
    if (!want) return;
    const b = this.#b;
    const { turns } = b;
    sends(b, this.#rules, this.#now, this.#wire);
    turns.seq += 1;
    const readsWait = this.#order.rounds.interactive.length > 0;
    turns.writesInARow = inARowAfter(turns.writesInARow, want.lane, readsWait);
    addHeld(b, this.#rules, this.#now, { ...want, owner: this.#claimant.owner });
    this.#free -= 1;
    if (!want.lengthy) this.#wire += 1;
    this.#granted[at] = true;
  }

  /** Keeps the latest turns of those who wait still: of others nothing is known. */
  #noteServed(lane: 'write' | 'interactive', { caller, since }: TurnPlace): void {
    const { served, seq } = this.#b.turns;
    const waiting = new Set(this.#order.rounds[lane].map((place) => place.caller));
    const kept = Object.entries(served[lane]).filter(([each]) => waiting.has(each));
    if (since !== null && waiting.has(caller)) kept.push([caller, seq]);
    served[lane] = Object.fromEntries(kept);
  }
}

/** Adds a slot whose request leaves now. */
export function addHeld(
  b: KeyBudget,
  { holdMs }: Rules,
  now: number,
  of: { readonly id: string; readonly owner: string; lengthy?: boolean; flight?: unknown },
): void {
  for (const slot of b.held) slot.countable += 1;
  const slot: HeldSlot = {
    id: of.id,
    owner: of.owner,
    until: holdMs === null ? null : now + holdMs,
    grantedAt: now,
    seq: b.turns.seq,
    countable: b.held.length + b.answered.length + 1,
    era: b.pause.era,
    ...(of.lengthy && { lengthy: true as const }),
    ...(of.flight !== undefined && { flight: of.flight }),
  };
  b.held.push(slot);
}

/** Refreshes use what is left beside a reserve, spread over the window, so that readers find slots later too. */
function refreshStop(b: KeyBudget, rules: Rules, now: number, free: number): Stop | undefined {
  const tokens = tokensAt(b, rules, now);
  if (tokens < 1) return { waitMs: (1 - tokens) * refreshEveryMs(b, rules), why: 'refresh' };
  const over = reserveOf(b.limit) - free;
  if (over < 0) return undefined;
  return { waitMs: comesBack(b, rules, now, over) - now, why: 'refresh' };
}

function tokensAt(b: KeyBudget, rules: Rules, now: number): number {
  const { at, tokens } = b.pace;
  return Math.min(refreshBurst(b.limit), tokens + (now - at) / refreshEveryMs(b, rules));
}

function refreshEveryMs({ limit }: KeyBudget, { windowMs }: Rules): number {
  return windowMs / refreshesPerWindow(limit);
}

/** How many refreshes a window has room for when no reader or writer asks. */
export function refreshesPerWindow(limit: number): number {
  return Math.max(1, limit - reserveOf(limit));
}

/** Where each caller stands over all processes: the first to have waited counts. */
function placesOf(lists: readonly (readonly CallerWaits[])[]): TurnPlace[] {
  const places: TurnPlace[] = [];
  const byCaller = new Map<string, TurnPlace & { since: number | null }>();
  for (const [caller, count, since] of lists.flat()) {
    const known = since === null ? undefined : byCaller.get(caller);
    if (known) {
      known.count += count;
      known.since = Math.min(known.since ?? 0, since ?? 0);
      continue;
    }
    const place = { caller, count, since };
    places.push(place);
    if (since !== null) byCaller.set(caller, place);
  }
  return places;
}
