import { countWaiting } from '../law/turns.ts';
import type { RedisStore } from './redis-store.ts';

/** What is known of a process by the budgets that it shares. */
interface Standing {
  /** Milliseconds since it sent last; `null` where that does not count any more. */
  readonly sentMsAgo: number | null;
  /** Requests that wait there. */
  readonly queued: number;
}

/** A process on the same budgets, as this one knows it. */
export interface Member extends Standing {
  readonly name: string;
  readonly self: boolean;
}

/** Characters of a replica's name that tell it from the others. */
const NAME_LENGTH = 6;

/** All that are alive, `self` first, and then those that budgets tell of. */
export function membersOf(
  self: Standing & { readonly id: string },
  others: ReadonlyMap<string, Standing>,
  alive: number,
): Member[] {
  const { id, queued, sentMsAgo } = self;
  const known = [
    { name: id.slice(0, NAME_LENGTH), self: true, sentMsAgo, queued },
    ...[...others].map(([name, standing]) => {
      return { name: name.slice(0, NAME_LENGTH), self: false, ...standing };
    }),
  ];
  // Of one that has neither sent nor waited lately nothing is known but that it is alive.
  const silent = { name: 'another', self: false, sentMsAgo: null, queued: 0 };
  const rest = Math.max(0, alive - known.length);
  return [...known, ...Array.from({ length: rest }, () => silent)];
}

/** What budgets tell of other replicas, by their names. */
export function othersIn(
  stores: readonly RedisStore[],
  self: string,
): ReadonlyMap<string, Standing> {
  const others = new Map<string, { sentMsAgo: number | null; queued: number }>();
  const other = (name: string) => {
    const known = others.get(name) ?? { sentMsAgo: null, queued: 0 };
    others.set(name, known);
    return known;
  };
  for (const store of stores) {
    const { budget, now } = store.view;
    const { answered, held } = budget;
    for (const { grantedAt, owner } of [...held, ...answered]) {
      if (owner === self) continue;
      const known = other(owner);
      const ms = Math.max(0, Math.round(now - grantedAt));
      known.sentMsAgo = Math.min(known.sentMsAgo ?? Infinity, ms);
    }
    for (const [name, bid] of store.bids) other(name).queued += countWaiting(bid);
  }
  return others;
}
