import { type AnsweredSlot, type KeyBudget, type Lane, type Rules } from './document.ts';

/**
 * Removes slots that no longer count at `now`, and returns the removed slots of completed requests.
 * Every step requires a document that was purged for its time.
 */
export function purge(b: KeyBudget, now: number): AnsweredSlot[] {
  if (b.unknownUntil !== null && b.unknownUntil <= now) b.unknownUntil = null;
  b.coTenants.splice(0, countUntil(b.coTenants, now));
  return b.answered.splice(0, countUntil(b.answered, now));
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
  /** Number of requests in flight, without the lengthy ones. */
  readonly wire: number;
  /** Number of requests of jobs in flight. */
  readonly jobs: number;
}

/** The claimable slots, with the requests in flight; `taken` is the number of slots of requests. */
export function roomOf(b: KeyBudget, taken = b.held.length + b.answered.length): Room {
  let [jobs, wire] = [0, 0];
  for (const { bulk, lengthy } of b.held) {
    if (bulk) jobs += 1;
    if (!lengthy) wire += 1;
  }
  return { free: b.limit - taken - coTenants(b) - heldBack(b), wire, jobs };
}

/** Adds a slot for a request that is sent now. */
export function addHeld(
  b: KeyBudget,
  now: number,
  of: {
    readonly id: string;
    readonly caller?: string | undefined;
    readonly lane: Lane;
    readonly lengthy?: boolean;
  },
): void {
  for (const slot of b.held) slot.countable += 1;
  b.held.push({
    id: of.id,
    grantedAt: now,
    countable: b.held.length + b.answered.length + 1,
    era: b.pause.era,
    ...(of.lengthy && { lengthy: true as const }),
    ...(of.caller !== undefined && { caller: of.caller }),
    ...(of.lane === 'bulk' && { bulk: true as const }),
  });
}

/** Inserts a slot whose request is completed, in order. */
export function addAnswered(b: KeyBudget, slot: AnsweredSlot): void {
  b.answered.splice(countUntil(b.answered, slot.until), 0, slot);
}

/** Assumes that co-tenants have sent `count` more requests, which count until a given time. */
export function addCoTenants(b: KeyBudget, count: number, until: number): void {
  b.coTenants.splice(countUntil(b.coTenants, until), 0, { until, count });
}

/** When the slot with `n` others before it is free again; infinite if fewer are in use. */
export function comesBack(b: KeyBudget, rules: Rules, now: number, n: number): number {
  let rest = n;
  for (const { count, until } of slotsOf(b, rules, now)) {
    if (rest < count) return until;
    rest -= count;
  }
  return Infinity;
}

/** Milliseconds until no lease is left, estimated for pending responses; `null` if there is none now. */
export function clearMs(b: KeyBudget, rules: Rules, now: number): number | null {
  const count = used(b);
  return count === 0 ? null : comesBack(b, rules, now, count - 1) - now;
}

/** Milliseconds until a pause ends; 0 if there is none. */
export function pausedMs({ pause }: KeyBudget, now: number): number {
  return Math.max(0, (pause.until ?? now) - now);
}

/** A slot that counts, or several that stop counting together. */
export interface CountingSlots {
  readonly isCoTenant: boolean;
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

/** All slots that count, in the order in which they become free. No pending response frees one before the completed ones. */
export function slotsOf(b: KeyBudget, { windowMs }: Rules, now: number): CountingSlots[] {
  const block = { isCoTenant: false, id: null, caller: null, bulk: false, isOut: false };
  const one = { ...block, count: 1 };
  const slots: CountingSlots[] = b.coTenants.map((of) => ({ ...block, ...of, isCoTenant: true }));
  if (b.unknownUntil !== null && heldBack(b) > 0) {
    slots.push({ ...block, count: heldBack(b), until: b.unknownUntil });
  }
  for (const { bulk = false, caller = null, id, until } of b.answered) {
    slots.push({ ...one, id, caller, bulk, until });
  }
  for (const { bulk = false, caller = null, grantedAt, id } of b.held) {
    const until = Math.max(now, grantedAt + b.latencyMs) + windowMs;
    slots.push({ ...one, id, caller, bulk, until, isOut: true });
  }
  return slots.sort((a, other) => a.until - other.until);
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
