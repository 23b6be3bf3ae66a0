import { type BudgetView, departuresOf } from './forecast.ts';
import type { KeyBudgetStore } from './key-budget-store.ts';
import { classOf, nameWithoutClass } from './law/callers.ts';
import type { Lane } from './law/document.ts';
import { clearMs, comesBack, pausedMs, slotsOf, used } from './law/slots.ts';
import type { Queue, SlotRequest } from './queue.ts';

/** Maximum number of listed slots of a window: co-tenants can have any number. */
const MOST_LISTED = 1000;

/** The state of one key's budget, for display and for `rateLimit`. */
export interface BudgetState {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** Requests that wait for a slot. */
  readonly queued: number;
  /** Milliseconds until no request counts against the limit; `null` if none counts now. */
  readonly resetInMs: number | null;
  /** Milliseconds until the upstream's own window begins again, as its headers say; `null` if they do not. */
  readonly upstreamResetInMs: number | null;
}

/** A slot of the window that is taken. */
export interface TakenSlot {
  /** A lane of this process, the process before, or another user of the key. */
  readonly owner: Lane | 'before' | 'co-tenant';
  /** The resource of its request; `null` if this process has not sent it. */
  readonly resource: string | null;
  /** Milliseconds until it is free again; `null` while its request is in flight. */
  readonly freeInMs: number | null;
}

/** The slots of the window, for display only. */
export interface BudgetWindow {
  readonly limit: number;
  /** The taken slots, in the order in which they become free. */
  readonly taken: readonly TakenSlot[];
  /** Milliseconds until one more slot is free, and until all are; `null` if no slot is taken. */
  readonly nextInMs: number | null;
  readonly allInMs: number | null;
}

/** The caller of waiting requests, for display. */
interface ShownCaller {
  readonly caller: string;
  readonly callerClass: string;
}

/** A request that waits for a slot, for display. */
export interface QueuedRequest extends ShownCaller {
  readonly lane: Lane;
  readonly resource: string;
  readonly operation: string | null;
  readonly waitedMs: number;
  /** Estimated milliseconds until it is sent; `null` for a refresh, and for one of a job. */
  readonly leavesInMs: number | null;
}

/** The requests of one caller that wait for a slot, for display; without those of jobs. */
export interface WaitingCaller extends ShownCaller {
  readonly count: number;
  /** How long the first of them has waited. */
  readonly longestMs: number;
}

/** The state of a budget with this number of waiting requests. */
export function stateOf({ budget, now, rules }: BudgetView, queued: number): BudgetState {
  const { limit } = budget;
  const count = used(budget);
  const pauseMs = pausedMs(budget, now);
  const clear = clearMs(budget, rules, now);
  const upstreamResetInMs = (budget.upstreamResetAt ?? now) - now;
  return {
    limit,
    used: Math.min(limit, count),
    remaining: pauseMs > 0 ? 0 : Math.max(0, limit - count),
    queued,
    resetInMs: clear === null && pauseMs === 0 ? null : Math.max(clear ?? 0, pauseMs),
    upstreamResetInMs: upstreamResetInMs > 0 ? upstreamResetInMs : null,
  };
}

/** What an operator sees of a budget: its window, and who waits. */
export class BudgetShown {
  readonly #store: KeyBudgetStore;
  readonly #queue: Queue<SlotRequest>;

  constructor(store: KeyBudgetStore, queue: Queue<SlotRequest>) {
    this.#store = store;
    this.#queue = queue;
  }

  /** The owners of the slots in the window, those in flight last. */
  get window(): BudgetWindow {
    const { budget, now, rules } = this.#store.view;
    const { limit } = budget;
    const slots = slotsOf(budget, rules, now);
    const taken = slots.flatMap(({ count, id, isCoTenant, isOut, until }): TakenSlot[] => {
      const use = id === null ? undefined : this.#store.useOf(id);
      const owner = use?.lane ?? (isCoTenant ? 'co-tenant' : 'before');
      const [resource, freeInMs] = [use?.resource ?? null, isOut ? null : until - now];
      return Array.from({ length: Math.min(count, MOST_LISTED) }, () => ({
        owner,
        resource,
        freeInMs,
      }));
    });
    const over = Math.max(0, used(budget) - limit);
    const allInMs = clearMs(budget, rules, now);
    return {
      limit,
      taken: taken.toSorted((a, b) => Number(a.freeInMs === null) - Number(b.freeInMs === null)),
      nextInMs: allInMs === null ? null : comesBack(budget, rules, now, over) - now,
      allInMs,
    };
  }

  /** The waiting requests in the order in which they are sent if no others arrive; at most `most`. Plays a forecast. */
  waiting(most: number): QueuedRequest[] {
    const order = departuresOf(this.#queue, this.#store.view);
    const played = [...order].map(([request, leavesInMs]) => queued(request, leavesInMs));
    const refreshes = this.#queue.mostUrgent().map((each) => queued(each, null));
    const bulk = played.filter(({ lane }) => lane === 'bulk');
    const callers = played.filter(({ lane }) => lane !== 'bulk');
    return [...callers, ...refreshes, ...bulk].slice(0, most);
  }

  /** The callers that wait, in no order. */
  get waitingCallers(): WaitingCaller[] {
    const callers = new Map<string, WaitingCaller>();
    const all = this.#queue.in('write', 'interactive', 'bulk');
    for (const { caller, isForJobs, waitedMs } of all) {
      if (isForJobs) continue;
      const { count = 0, longestMs = 0 } = callers.get(caller) ?? {};
      const of = { count: count + 1, longestMs: Math.max(longestMs, waitedMs) };
      callers.set(caller, { ...shownCaller(caller), ...of });
    }
    return [...callers.values()];
  }
}

function queued(request: SlotRequest, leavesInMs: number | null): QueuedRequest {
  const { caller, isForJobs, lane, operation, resource, waitedMs } = request;
  const shown = { ...shownCaller(caller), resource, operation, waitedMs };
  return { lane, ...shown, leavesInMs: isForJobs ? null : leavesInMs };
}

function shownCaller(caller: string): ShownCaller {
  return { caller: nameWithoutClass(caller), callerClass: classOf(caller) };
}
