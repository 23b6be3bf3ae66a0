import type { SharedLedger, SharedView } from '../../../redis/shared-ledger.ts';
import { waitAbreastMs } from '../caution.ts';

/** What can be known now of a key's budget over all replicas. Nothing is sent on its word. */
export interface SharedForecast {
  readonly limit: number;
  /** Requests that count. */
  readonly used: number;
  /** Slots that refreshes leave to readers and writers. */
  readonly reserve: number;
  /** Requests that wait on other replicas. */
  readonly bids: number;
  /** Milliseconds until nothing counts any more. */
  readonly clearMs: number;
  readonly pausedMs: number;
  /** Milliseconds for which nothing leaves, for whatever reason. */
  readonly heldMs: number;
  /**
   * Milliseconds until what has so many of this process before it is sent; `callers` of this process wait for
   * reads of theirs.
   */
  availableIn(position: number, callers: number): number;
}

/**
 * The forecast at `now`, on the clock of the view. Nothing is sent for another `quarantineMs`; `isOut` while the
 * ledger cannot be asked.
 */
export function sharedForecast(
  { holdMs, view, windowMs }: Pick<SharedLedger, 'holdMs' | 'view' | 'windowMs'>,
  {
    isOut,
    now,
    quarantineMs,
  }: { readonly now: number; readonly isOut: boolean; readonly quarantineMs: number },
): SharedForecast {
  const since = now - view.heardAt;
  const rest = (ms: number): number => Math.max(0, ms - since);
  const times = view.times.map((ms) => ms - since).filter((ms) => ms > 0);
  const { limit } = view;
  const pausedMs = rest(view.pausedMs);
  // Whatever Redis knows when it is back, nothing of it is older than that.
  const heldMs = Math.max(pausedMs, quarantineMs, isOut ? holdMs : 0);
  return {
    limit,
    used: times.length,
    reserve: Math.min(limit - 1, Math.max(1, Math.round(limit / 15))),
    bids: view.bids.reduce((sum, bid) => sum + total(bid.w) + total(bid.i) + bid.r, 0),
    clearMs: times.at(-1) ?? 0,
    pausedMs,
    heldMs,
    availableIn(position, callers) {
      const ahead = position + foreign(view, position, callers);
      const rounds = Math.floor(ahead / limit);
      const place = (ahead % limit) - Math.max(0, limit - times.length);
      // More than the limit counts after it has shrunk: the first to come back free nothing.
      const over = Math.max(0, times.length - limit);
      const slot = place < 0 ? 0 : (times[place + over] ?? view.latencyMs + windowMs);
      const { about, abreast, latencyMs, most, wire } = view;
      const turn = heldMs + waitAbreastMs(ahead + wire, { abreast, most, about }, latencyMs);
      return Math.max(heldMs, slot, turn) + rounds * (windowMs + latencyMs);
    },
  };
}

/** How many of other replicas go before what has so many of this one before it: callers take turns over all. */
function foreign({ bids }: SharedView, position: number, callers: number): number {
  const turns = 1 + Math.floor(position / Math.max(1, callers));
  let ahead = 0;
  for (const { i, w } of bids) {
    for (const counts of [w, i]) {
      for (const count of Object.values(counts)) ahead += Math.min(count, turns);
    }
  }
  return ahead;
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
