import {
  type AnsweredSlot,
  type HeldSlot,
  type KeyBudget,
  type Lane,
  type Rules,
  refreshBurst,
} from './document.ts';

/** Owner of the slots of the previous process. */
export const PROCESS_BEFORE = 'before';

/**
 * Removes slots that no longer count at `now`, and returns the removed slots of completed requests and of co-tenants.
 * Every step requires a document that was purged for its time.
 */
export function purge(
  b: KeyBudget,
  rules: Rules,
  now: number,
): Pick<KeyBudget, 'answered' | 'coTenants'> {
  if (b.configured !== rules.limit) {
    b.limit = rules.limit;
    b.configured = rules.limit;
    b.pace.tokens = refreshBurst(rules.limit);
  }
  if (b.unknownUntil !== null && b.unknownUntil <= now) b.unknownUntil = null;
  if (b.held.some((slot) => slot.ghost || isOver(slot, now))) {
    const ghosts = ghostsIn(b, rules, now);
    b.held = b.held.filter((slot) => {
      delete slot.ghost;
      if (ghosts.has(slot)) slot.ghost = true;
      return slot.ghost || !isOver(slot, now);
    });
  }
  return {
    answered: b.answered.splice(0, countUntil(b.answered, now)),
    coTenants: b.coTenants.splice(0, countUntil(b.coTenants, now)),
  };
}

/** Number of slots that count. */
export function used(b: KeyBudget): number {
  return b.held.length + b.answered.length + coTenants(b) + heldBack(b);
}

/** Number of co-tenants' requests that still count. */
export function coTenants(b: KeyBudget): number {
  return b.coTenants.reduce((sum, { count }) => sum + count, 0);
}

/** The claimable slots. */
export interface Room {
  /** Free slots; negative if more are in use than a reduced limit allows. */
  readonly free: number;
  /** Number of requests in flight, see `onWire`. */
  readonly wire: number;
  /** Number of requests of jobs in flight. */
  readonly jobs: number;
}

/** The claimable slots, with the requests in flight of active owners. */
export function roomOf(b: KeyBudget, isAlive: (owner: string) => boolean): Room {
  let jobs = 0;
  for (const { bulk, ghost, owner } of b.held) if (bulk && !ghost && isAlive(owner)) jobs += 1;
  return { free: b.limit - used(b), wire: onWire(b, isAlive), jobs };
}

/** Number of requests in flight of active owners, without the lengthy ones. */
export function onWire(b: KeyBudget, isAlive: (owner: string) => boolean): number {
  let count = 0;
  for (const { lengthy, owner } of b.held) if (!lengthy && isAlive(owner)) count += 1;
  return count;
}

/** Adds a slot for a request that is sent now. */
export function addHeld(
  b: KeyBudget,
  { holdMs }: Rules,
  now: number,
  of: {
    readonly id: string;
    readonly owner: string;
    readonly caller?: string | undefined;
    readonly lane?: Lane;
    readonly lengthy?: boolean;
    readonly flight?: unknown;
  },
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
    ...(of.caller !== undefined && { caller: of.caller }),
    ...(of.lane === 'bulk' && { bulk: true as const }),
    ...(of.flight !== undefined && { flight: of.flight }),
  };
  b.held.push(slot);
}

/** Inserts a slot whose request is completed, in order. */
export function addAnswered(b: KeyBudget, slot: AnsweredSlot): void {
  b.answered.splice(countUntil(b.answered, slot.until), 0, slot);
}

/** Assumes that co-tenants have sent `count` more requests, which count until a given time. */
export function addCoTenants(b: KeyBudget, count: number, until: number): void {
  b.coTenants.splice(countUntil(b.coTenants, until), 0, { until, count });
}

/**
 * When the slot of a request in flight stops counting: estimated from the usual latency, except for a ghost. No
 * pending response frees a slot before the completed ones.
 */
function heldUntil(b: KeyBudget, slot: HeldSlot, rules: Rules, now: number): number {
  if (slot.ghost) return slot.grantedAt + (rules.ghostMs ?? 0);
  const answeredAt = Math.max(now, slot.grantedAt + b.latencyMs);
  return Math.min(slot.until ?? Infinity, answeredAt + rules.windowMs + rules.marginMs);
}

/** When the slot with `n` others before it is free again; infinite if fewer are in use. */
export function comesBack(b: KeyBudget, rules: Rules, now: number, n: number): number {
  const others = [...b.coTenants];
  for (const slot of b.held) others.push({ until: heldUntil(b, slot, rules, now), count: 1 });
  if (b.unknownUntil !== null) others.push({ until: b.unknownUntil, count: heldBack(b) });
  others.sort((one, other) => one.until - other.until);
  let rest = n;
  let passed = 0;
  for (const { count, until } of others) {
    const before = countUntil(b.answered, until);
    if (rest < before - passed) break;
    rest -= before - passed;
    passed = before;
    if (rest < count) return until;
    rest -= count;
  }
  return b.answered[passed + rest]?.until ?? Infinity;
}

/** A slot that counts, or several that stop counting together. */
export interface CountingSlots {
  /** The name of the process; `null` for slots of co-tenants. */
  readonly owner: string | null;
  /** `null` if they are not of one request. */
  readonly id: string | null;
  /** The name of the caller in the turns; `null` if there is none, or it is unknown. */
  readonly caller: string | null;
  /** Of a job. */
  readonly bulk: boolean;
  readonly count: number;
  /** Until when they count; estimated while the request is in flight. */
  readonly until: number;
  readonly isOut: boolean;
}

/** All slots that count, in the order in which they become free. */
export function slotsOf(b: KeyBudget, rules: Rules, now: number): CountingSlots[] {
  const slots: CountingSlots[] = b.coTenants.map((block) => {
    return { ...block, owner: null, id: null, caller: null, bulk: false, isOut: false };
  });
  for (const slot of b.held) {
    const { bulk = false, caller = null, ghost = false, id, owner } = slot;
    const until = heldUntil(b, slot, rules, now);
    slots.push({ owner, id, caller, bulk, count: 1, until, isOut: !ghost });
  }
  if (b.unknownUntil !== null && heldBack(b) > 0) {
    const block = { owner: PROCESS_BEFORE, id: null, caller: null, bulk: false, isOut: false };
    slots.push({ ...block, count: heldBack(b), until: b.unknownUntil });
  }
  for (const { bulk = false, caller = null, id, owner, until } of b.answered) {
    slots.push({ owner, id, caller, bulk, count: 1, until, isOut: false });
  }
  return slots.sort((one, other) => one.until - other.until);
}

/** The previous process may have used the whole limit: then each uses at most half, so that neither waits forever. */
export function heldBack(b: KeyBudget): number {
  return b.unknownUntil === null ? 0 : Math.floor(b.limit / 2);
}

/** Number of entries of a list, sorted by `until`, that have ended at a given time. */
function countUntil(list: readonly { readonly until: number }[], moment: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle]?.until ?? Infinity) <= moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isOver({ until }: HeldSlot, now: number): boolean {
  return until !== null && until <= now;
}

/**
 * A process that is suspended in the turn in which it sends a request can send that one request late, but no other: so
 * its latest slot without an end is kept as a ghost. A suspended process cannot be distinguished from a killed one, and
 * processes can be killed repeatedly. So only the latest few ghosts are kept: the longer a process is suspended, the
 * less likely it resumes in that turn. At most a tenth of the limit is kept, and none if almost nothing would be left.
 */
function ghostsIn(b: KeyBudget, { ghostMs }: Rules, now: number): ReadonlySet<HeldSlot> {
  const latest = new Map<string, HeldSlot>();
  for (const slot of b.held) {
    if (!isOver(slot, now) || now >= slot.grantedAt + (ghostMs ?? 0)) continue;
    if (slot.seq >= (latest.get(slot.owner)?.seq ?? 0)) latest.set(slot.owner, slot);
  }
  const most = Math.min(Math.max(1, Math.floor(b.limit / 10)), Math.floor(b.limit / 4));
  const byAge = [...latest.values()].sort((a, c) => c.seq - a.seq || (c.id > a.id ? 1 : -1));
  return new Set(byAge.slice(0, most));
}
