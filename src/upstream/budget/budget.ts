import type { ExhaustedReason } from '../../errors.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Feedback } from '../wire/rate-limit-headers.ts';
import type { Lane, TurnLane } from './law/document.ts';
import type { QuotaUse } from './law/quotas.ts';
import type { Waiting } from './queue.ts';

/**
 * A slot of the window for one request, held from now until one window after its response ended. Exactly one of
 * `release` and `end` is called.
 */
export interface Slot {
  /** Unique on the budget. */
  readonly id: string;
  /** Resolves when the request may leave; see `Store.saved`. */
  saved(): AtOnce<void>;
  /** Whether the request may still be sent: checked in the turn in which its first byte leaves. */
  readonly mayLeave: () => boolean;
  /** The request was not sent: the slot is free immediately. */
  release(): void;
  /**
   * The response has ended. A request that is repeated calls `Budget.turn` in the same run, before another request gets
   * the free slot.
   */
  end(feedback: Feedback): void;
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

/** A request that waits for a slot, for display. */
export interface QueuedRequest {
  readonly lane: Lane;
  readonly caller: string;
  readonly callerClass: string;
  readonly resource: string;
  readonly operation: string | null;
  readonly waitedMs: number;
  /** Estimated milliseconds until it is sent; `null` for a refresh, and for one of a job. */
  readonly leavesInMs: number | null;
}

/** The requests of one caller that wait for a slot, for display; without those of jobs. */
export interface WaitingCaller {
  readonly caller: string;
  readonly callerClass: string;
  readonly count: number;
  /** How long the first of them has waited. */
  readonly longestMs: number;
}

/** A request that wants a slot. */
export interface SlotRequest extends Waiting {
  /** The resource, e.g. `channels`. */
  readonly resource: string;
  /** The name of the operation that waits for it; `null` if there is none. */
  readonly operation: string | null;
  /** How long it has waited so far, in milliseconds. */
  readonly waitedMs: number;
  /** Whether only jobs wait for it. */
  readonly isForJobs?: boolean;
  /**
   * Whether the request stays in its lane although a pause or a shutdown delays its turn by about this many
   * milliseconds. If not, it has canceled itself. Called immediately, because requests that leave the queue advance
   * the others.
   */
  accepts(delayMs: number): boolean;
}

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

/** Further requests of jobs. */
export interface BulkNeed {
  readonly calls: number;
  /** The class of the callers that have started them. */
  readonly callerClass: string;
}

/**
 * Admission of requests to one upstream key: it decides the order in which requests are sent, so that the key's
 * limit holds in every sliding window, writes go first, callers take turns, and refreshes use what is left.
 */
export interface Budget {
  /**
   * Waits for a turn. If a slot is free, the request is sent in the same turn of the event loop. With `again`, it goes
   * before all others of its lane, because its last turn had no result. `null` after `cancel`.
   */
  turn(request: SlotRequest, again?: boolean): AtOnce<Slot | null>;
  /** Removes a request from the queue; false if it has had its turn. It uses no slot. */
  cancel(request: SlotRequest): boolean;
  /**
   * Sends a read when a new read of this caller would be sent, if that is sooner, because this caller waits for it too; a
   * refresh, or a read in the lane `bulk`, in any case. From then on, it is charged to this caller, whose own reads are not
   * in the lane `bulk`.
   */
  promote(request: SlotRequest, caller: string): void;
  /** Returns a waiting read to the lane `bulk`, because only callers whose reads are in it wait for it now, such as this. */
  demote(request: SlotRequest, caller: string): void;
  /**
   * Gives a waiting request its turn now, because its caller has no time to wait: if there are slots for it and for all
   * before it, and it waits only for a pending response that may contain no rate-limit headers.
   */
  sendNow(request: SlotRequest): void;
  /**
   * The lane of a request of this caller that would be in a given lane for a class with weight: `bulk` for reads of a
   * class without. Not for jobs.
   */
  laneOf<L extends TurnLane>(lane: L, caller: string): L | 'bulk';
  /**
   * Estimated milliseconds until a new request of this caller would be sent, which would be in this lane for a class with
   * weight.
   */
  estimate(lane: TurnLane, caller: string): number;
  /** Estimated milliseconds until a waiting request is sent; 0 if it does not wait, or is a refresh. */
  estimateOf(request: SlotRequest): number;

  /**
   * Number of slots that a caller can use now: without those that are reserved for others, see `Reserves`. `lane` as for
   * `estimate`.
   */
  availableTo(lane: TurnLane, caller: string): number;
  /** The limit of the class of a caller, and what of it is used; `null` without one. */
  quotaOf(caller: string): QuotaUse | null;
  /**
   * Milliseconds until further requests of jobs have had their responses, if others use as many slots
   * as before, and none is sent for `heldMs` milliseconds, as while the circuit breaker is open; 0 by default. Costs no
   * upstream request.
   */
  bulkForecastMs(need: BulkNeed, heldMs?: number): number;
  /** Requests per window that the upstream grants the key. */
  readonly limit: number;
  /** The current state of the budget. */
  readonly state: BudgetState;
  /** The owners of the slots in the window. */
  readonly window: BudgetWindow;
  /** The waiting requests in the order in which they are sent if no others arrive; at most `most`. */
  waiting(most: number): QueuedRequest[];
  /** The callers that wait, in no order. */
  readonly waitingCallers: readonly WaitingCaller[];
  /** Number of requests that wait in one lane. */
  queuedIn(lane: Lane): number;
  /** Milliseconds until a refusal's pause ends; 0 if there is none. */
  readonly pausedMs: number;
  /** Why a request is not sent within `patienceMs` milliseconds, apart from limits of classes. */
  exhaustedBy(patienceMs: number): ExhaustedReason;
  /**
   * Completes only requests that can finish within `graceMs`: those with a slot, and writes whose turn comes in time.
   * Waiting and new reads and requests of jobs are rejected; refreshes are no longer sent.
   */
  drain(graceMs: number): void;
  /** Whether a request with this waiting time can no longer be served, because of `drain`. */
  turnsAway(request: SlotRequest, estimateMs: number): boolean;
  /** Whether slots can be spared: none waits except in the lane `bulk`, and more slots than the reserve are free. */
  readonly idle: boolean;
  /** How many refreshes fit into a window without reads and writes. */
  readonly refreshesPerWindow: number;
  /** The window of the limit, in milliseconds. */
  readonly windowMs: number;
}
