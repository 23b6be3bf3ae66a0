import { type UpstreamName, upstreamTitle } from '../errors.ts';
import type { Health } from '../observe/health.ts';
import type { History } from '../observe/history/history.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Budget } from '../upstream/budget/budget.ts';
import type { Client } from '../upstream/client.ts';
import type { UpstreamState, WaitingState } from './console-state.ts';

/** Slots of a window that are shown one by one. */
const SLOTS_SHOWN = 120;
/** Requests that are shown of those that wait. */
const WAITING_SHOWN = 50;

/** What an upstream grants each key unless it says otherwise. */
interface GrantedLimit {
  readonly rateLimit: number;
  readonly rateWindowMs: number;
}

/** Where the states of the upstreams are read off. */
export interface UpstreamParts {
  readonly clock: Clock;
  readonly clients: readonly Client[];
  readonly health: Health;
  readonly history: History;
  readonly limits: Readonly<Record<UpstreamName, GrantedLimit>>;
}

/** Each upstream with the budget of its busiest key, as they are now. */
export function upstreamStates(parts: UpstreamParts): UpstreamState[] {
  return parts.clients.map((client) => upstreamState(client, parts));
}

function upstreamState(
  client: Client,
  { clock, health, history, limits }: UpstreamParts,
): UpstreamState {
  const { upstream } = client;
  const budgets = [...client.budgets];
  const busiest = budgets.reduce<{ budget: Budget; left: number } | null>((least, budget) => {
    const left = budget.state.remaining;
    return least && least.left <= left ? least : { budget, left };
  }, null)?.budget;
  const { rateLimit, rateWindowMs } = limits[upstream];
  const window = busiest?.window ?? { limit: rateLimit, taken: [], nextInMs: null, allInMs: null };
  const answeredAt = health.answeredAt(upstream);
  return {
    upstream,
    title: upstreamTitle[upstream],
    keys: budgets.length,
    limit: window.limit,
    windowMs: busiest?.windowMs ?? rateWindowMs,
    free: Math.max(0, window.limit - window.taken.length),
    nextInMs: rounded(window.nextInMs),
    allInMs: rounded(window.allInMs),
    pausedMs: Math.ceil(busiest?.pausedMs ?? 0),
    reachable: health.isReachable(upstream),
    answeredMsAgo: answeredAt === null ? null : Math.round(clock.now() - answeredAt),
    slots: window.taken
      .slice(0, SLOTS_SHOWN)
      .map((slot) => ({ ...slot, freeInMs: rounded(slot.freeInMs) })),
    history: history.sends(upstream),
  };
}

/** The requests that wait under all keys: those that leave first, and how many there are in all. */
export function waitingStates(
  clients: readonly Client[],
  shown: (name: string) => string,
): { readonly waiting: WaitingState[]; readonly waitingCount: number } {
  const all: WaitingState[] = [];
  let waitingCount = 0;
  for (const { budgets, upstream } of clients) {
    for (const budget of budgets) {
      const { queued } = budget.state;
      waitingCount += queued;
      if (queued === 0) continue;
      for (const each of budget.waiting(WAITING_SHOWN)) {
        const { caller, lane, leavesInMs, operation, resource, waitedMs } = each;
        all.push({
          upstream,
          lane,
          resource,
          operation: operation === null ? null : shown(operation),
          caller: lane === 'refresh' ? null : shown(caller),
          waitedMs: Math.round(waitedMs),
          leavesInMs: rounded(leavesInMs),
        });
      }
    }
  }
  all.sort((a, b) => (a.leavesInMs ?? Infinity) - (b.leavesInMs ?? Infinity));
  return { waiting: all.slice(0, WAITING_SHOWN), waitingCount };
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.ceil(ms);
}
