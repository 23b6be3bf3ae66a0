import { type UpstreamName, upstreamTitle } from '../errors.ts';
import { callerKey, shownClass } from '../observe/callers.ts';
import type { Health } from '../observe/health.ts';
import type { History } from '../observe/history/history.ts';
import type { Scrub } from '../observe/log/scrub.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Budget } from '../upstream/budget/budget.ts';
import type { Client } from '../upstream/client.ts';
import type {
  ConsoleState,
  UpstreamState,
  WaitingCallerState,
  WaitingState,
} from './console-state.ts';

/** Slots of a window that are shown one by one. */
const SLOTS_SHOWN = 120;
/** Maximum number of shown waiting requests. */
const WAITING_SHOWN = 50;
/** Callers that are shown of those who wait. */
const CALLERS_SHOWN = 5;

/** The sources of the states of the upstreams. */
interface UpstreamParts {
  readonly clock: Clock;
  readonly clients: readonly Client[];
  readonly health: Health;
  readonly history: History;
  /** What an upstream grants each key unless it says otherwise. */
  readonly limits: Readonly<
    Record<UpstreamName, { readonly rateLimit: number; readonly rateWindowMs: number }>
  >;
  readonly scrub: Scrub;
}

/** Each upstream with the budget of its busiest key, as they are now. */
export function upstreamStates(parts: UpstreamParts): UpstreamState[] {
  return parts.clients.map((client) => upstreamState(client, parts));
}

function upstreamState(
  client: Client,
  { clock, health, history, limits, scrub }: UpstreamParts,
): UpstreamState {
  const { upstream, wire } = client;
  const budgets = [...client.budgets];
  const busiest = budgets.reduce<{ budget: Budget; left: number } | null>((least, budget) => {
    const left = budget.state.remaining;
    return least && least.left <= left ? least : { budget, left };
  }, null)?.budget;
  const { rateLimit, rateWindowMs } = limits[upstream];
  const window = busiest?.shown.window ?? {
    limit: rateLimit,
    taken: [],
    nextInMs: null,
    allInMs: null,
  };
  const answeredAt = health.answeredAt(upstream);
  const failures = health.failuresOf(upstream);
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
    failure: failures && {
      reason: scrub(failures.reason),
      isUniform: failures.isUniform,
      since: Math.round(clock.wall() - (clock.now() - failures.since)),
      inARow: failures.inARow,
      resource: failures.resource,
    },
    heldMs: Math.ceil(wire.heldMs),
    answeredMsAgo: answeredAt === null ? null : Math.round(clock.now() - answeredAt),
    slots: window.taken
      .slice(0, SLOTS_SHOWN)
      .map((slot) => ({ ...slot, freeInMs: rounded(slot.freeInMs) })),
    history: history.sends(upstream),
  };
}

/** The waiting requests of all keys: the first ones, the number of all, and their callers. */
export function waitingStates(
  clients: readonly Client[],
  shown: (name: string) => string,
): Pick<ConsoleState, 'waiting' | 'waitingCount' | 'waitingCallers'> {
  const all: WaitingState[] = [];
  const callers = new Map<string, Mutable<WaitingCallerState>>();
  let waitingCount = 0;
  for (const { budgets, upstream, wire } of clients) {
    for (const budget of budgets) {
      const { queued } = budget.state;
      waitingCount += queued;
      if (queued === 0) continue;
      for (const each of budget.shown.waiting(WAITING_SHOWN)) {
        const { caller, callerClass, lane, leavesInMs, operation, resource, waitedMs } = each;
        all.push({
          upstream,
          lane,
          resource,
          operation: operation === null ? null : shown(operation),
          caller: lane === 'refresh' ? null : shown(caller),
          callerClass: lane === 'refresh' ? undefined : shownClass(callerClass),
          waitedMs: Math.round(waitedMs),
          leavesInMs: rounded(leavesInMs),
          fails: leavesInMs !== null && leavesInMs < wire.heldMs,
        });
      }
      for (const { caller, callerClass, count, longestMs } of budget.shown.waitingCallers) {
        const ofClass = { callerClass: shownClass(callerClass) };
        const key = callerKey({ caller, ...ofClass });
        const known = callers.get(key) ?? {
          caller: shown(caller),
          ...ofClass,
          count: 0,
          longestMs: 0,
        };
        known.count += count;
        known.longestMs = Math.max(known.longestMs, Math.round(longestMs));
        callers.set(key, known);
      }
    }
  }
  all.sort((a, b) => (a.leavesInMs ?? Infinity) - (b.leavesInMs ?? Infinity));
  const most = [...callers.values()].sort((a, b) => b.count - a.count);
  return {
    waiting: all.slice(0, WAITING_SHOWN),
    waitingCount,
    waitingCallers: most.slice(0, CALLERS_SHOWN),
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.ceil(ms);
}
