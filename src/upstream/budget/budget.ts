import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Stamp } from '../request.ts';
import type { Feedback } from '../wire/rate-limit-headers.ts';
import type { Waiting } from './lanes.ts';
import type { Lane } from './law/document.ts';
import type { QueueForecast } from './queue-forecast.ts';

/**
 * How a request ended, for other replicas: its response is shared, it failed with a code, or it was a write that
 * changed nothing.
 */
export type SharedResult =
  | { readonly kind: 'shared' }
  | { readonly kind: 'failed'; readonly code: string }
  | { readonly kind: 'nothing' };

/** What replicas announce about a request, so that one of them is enough for all. */
export interface Sharing {
  /** Names a read: equal reads on all replicas are one request. Absent for what is not shared. */
  readonly key?: string;
  /** Scoped tags: for a read those that invalidate its response, for a write all that it may change. */
  readonly tags: readonly string[];
  /** A response younger than this, in milliseconds, is as good as a new one. */
  readonly ttlMs?: number;
  /**
   * When the cached response was requested, on the clock shared by replicas; nothing older is accepted. Infinite
   * for a read that accepts no response of another replica.
   */
  readonly newerThan?: () => number;
}

/**
 * A slot of the window for one request, held from now until one window after its response ended. Exactly one of
 * `release` and `end` is called.
 */
export interface Slot {
  readonly kind: 'slot';
  /** Unique on the budget. */
  readonly id: string;
  /** Stored with the response if replicas share the budget. */
  readonly stamp?: Stamp;
  /** Whether the request may still be sent: checked in the turn in which its first byte leaves. */
  readonly mayLeave: () => boolean;
  /** The request was not sent: the slot is free at once. */
  release(): void;
  /**
   * The response has ended. `result` is for other replicas; absent if it is for this one only. A request that is
   * repeated calls `Budget.turn` in the same run, before another one gets the slot that is free now.
   */
  end(feedback: Feedback, result?: SharedResult): void;
}

/** What becomes of a request that wants a slot. All but a slot need replicas that share the budget, or a `cancel`. */
export type Turn =
  | Slot
  /**
   * Another replica is sending the same request, so no slot is taken: `next` resolves with the turn that follows.
   */
  | { readonly kind: 'elsewhere'; readonly next: Promise<Turn> }
  /** Another replica's equal request has ended; `null` if it brought no result. */
  | { readonly kind: 'landed'; readonly result: SharedResult | null }
  | { readonly kind: 'cancelled' };

/** A slot of the window that is taken. */
export interface TakenSlot {
  /** A lane of this process, another process on the budget, or another user of the key. */
  readonly owner: Lane | 'replica' | 'co-tenant';
  /** The resource of its request; `null` if another process sent it. */
  readonly resource: string | null;
  /** Milliseconds until it is free again; `null` while its request is on the wire. */
  readonly freeInMs: number | null;
}

/** The slots of the window, for display only. */
export interface BudgetWindow {
  readonly limit: number;
  /** Those that are taken, the first to be free first. */
  readonly taken: readonly TakenSlot[];
  /** Milliseconds until one more slot is free, and until all are; `null` if no slot is taken. */
  readonly nextInMs: number | null;
  readonly allInMs: number | null;
}

/** A request that waits for a slot, for people. */
export interface QueuedRequest {
  readonly lane: Lane;
  readonly caller: string;
  readonly resource: string;
  readonly operation: string | null;
  readonly waitedMs: number;
  /** Milliseconds until it leaves, as far as can be known now; `null` for a refresh. */
  readonly leavesInMs: number | null;
}

/** The writes and reads of one caller that wait for a slot, for people. */
export interface WaitingCaller {
  readonly caller: string;
  readonly count: number;
  /** How long the first of them has waited. */
  readonly longestMs: number;
}

/** A request that wants a slot. */
export interface SlotRequest extends Waiting {
  /** What it is about, e.g. `channels`. */
  readonly resource: string;
  /** The name of the operation that waits for it; `null` if there is none. */
  readonly operation: string | null;
  /** How long it has waited so far, in milliseconds. */
  readonly waitedMs: number;
  /** True for what takes long by its nature, such as an upload: nothing waits for its headers. */
  readonly lengthy?: boolean;
  /** What is announced to other replicas. */
  readonly sharing?: Sharing | undefined;
  /**
   * Whether it stays in its lane although its turn comes in about this many milliseconds: a pause has begun, or
   * the process is about to end. If not, it has cancelled itself. Called at once, since requests that leave make
   * room for others.
   */
  accepts(delayMs: number): boolean;
}

/** The state of one key's budget, for people and for `rateLimit`. */
export interface BudgetState {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** Requests that wait for a slot. */
  readonly queued: number;
  /** Milliseconds until nothing counts any more; `null` when nothing counts now. */
  readonly resetInMs: number | null;
  /** Milliseconds until a new write would be sent, as far as can be known now. */
  readonly writeInMs: number;
}

/**
 * Admission of requests to one upstream key: it decides the order in which requests are sent, so that the key's
 * limit holds in every sliding window, writes go first, callers take turns, and refreshes use what is left.
 */
export interface Budget {
  /**
   * Waits for a turn, at once if a slot is free: the request is then sent in the same turn of the event loop. With
   * `again` it goes before all others of its lane, because its last turn brought no result.
   */
  turn(request: SlotRequest, again?: boolean): AtOnce<Turn>;
  /** Takes a request out of the queue; false when it has had its turn. Nothing is spent for it. */
  cancel(request: SlotRequest): boolean;
  /**
   * Lets a read or a refresh go when a new read of this caller would, if that is sooner, because they
   * wait for it too. From then on it is charged to them.
   */
  promote(request: SlotRequest, caller: string): void;
  /**
   * Gives a waiting request its turn now if there are slots for it and for all before it, and only a pending
   * response holds it back that may contain no rate-limit headers: its caller has no time to wait.
   */
  sendNow(request: SlotRequest): void;
  /** Milliseconds until a new request of this caller would be sent, as far as can be known now. */
  estimate(lane: 'write' | 'interactive', caller: string): number;
  /** Milliseconds until a request that is itself in a lane is sent; 0 if it does not wait. */
  estimateOf(request: SlotRequest): number;
  /**
   * What waits now, to play through what becomes of it, and of requests that do not exist, if nothing else is
   * asked for. Nothing leaves for `heldMs` milliseconds, as while the circuit breaker is open. Costs no upstream call,
   * takes no slot, and changes nothing.
   */
  forecast(heldMs: number): QueueForecast;
  /**
   * How long it takes to learn whether a slot is free, in milliseconds: requests wait for that whatever their
   * deadline.
   */
  readonly answersInMs: number;
  /** Requests per window that the upstream grants the key. */
  readonly limit: number;
  /** The current state of the budget. */
  readonly state: BudgetState;
  /** Who has the slots of the window. */
  readonly window: BudgetWindow;
  /** The requests that wait, in the order in which they go if nothing else comes; at most `most`. */
  waiting(most: number): QueuedRequest[];
  /** Who waits, in no order. */
  readonly waitingCallers: readonly WaitingCaller[];
  /** Requests that wait in one lane. */
  queuedIn(lane: Lane): number;
  /** Milliseconds until a refusal's pause ends; 0 if there is none. */
  readonly pausedMs: number;
  /**
   * Completes only what can finish within `graceMs`: requests with a slot, and writes whose turn comes in time.
   * Waiting and new reads are rejected; refreshes are no longer sent.
   */
  drain(graceMs: number): void;
  /** Whether a request with this waiting time can no longer be served, because of `drain`. */
  turnsAway(request: SlotRequest, estimateMs: number): boolean;
  /** Whether slots are to spare: nothing waits, and more are free than the reserve. */
  readonly idle: boolean;
  /** How many refreshes fit into a window without reads and writes. */
  readonly refreshesPerWindow: number;
  /** The window of the limit, in milliseconds. */
  readonly windowMs: number;
}
