import type { Credential } from '../auth/credential.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Budget } from './budget/budget.ts';
import { callerInClass } from './budget/law/callers.ts';
import type { TurnLane } from './budget/law/document.ts';
import type { Watchers } from './cache/watched-round.ts';
import type { WatchListener } from './cache/watches.ts';
import type { DryRun } from './dry-run/dry-run.ts';
import type { IdempotencyKey } from './idempotency/idempotency-key.ts';
import type { Receipt, Watch } from './receipt.ts';
import type { KeyedRead, Read } from './request.ts';

/** The caller of one operation, with its deadline. */
export interface Caller {
  /** The name to which slots are charged in the fair order. */
  readonly name: string;
  /** See `CallerClasses`; absent in the default class. */
  readonly callerClass?: string | undefined;
  readonly receipt: Receipt;
  /** Maximum total time that the operation waits for turns, in milliseconds. It does not apply to jobs. */
  readonly maxWaitMs: number;
  /** Aborts when the caller has hung up. */
  readonly signal: AbortSignal;
  /** Maximum number of requests of the operation to each API, if it is lower than that of all operations. */
  readonly maxCalls?: number;
  /** Present for a job. */
  readonly bulk?: BulkTerms | undefined;
}

/**
 * How a job reads and writes. Its requests wait without limit for slots that are left, and their number is not limited
 * per operation. They count for the class of its caller.
 */
export interface BulkTerms {
  /**
   * Cached responses that were requested at this time or later, on `clock.now()`, are accepted whatever their ttl, unless
   * a write can have changed them since; older ones are accepted only within their ttl.
   */
  readonly acceptsFrom: number;
}

/** The name of a caller in budgets. */
export function namedInBudget({ callerClass, name }: Pick<Caller, 'callerClass' | 'name'>): string {
  return callerInClass(name, callerClass);
}

/**
 * The name under which a request of a caller waits, and its lane: for a caller of a class with weight, it would be this
 * one.
 */
export function waitsAs<L extends TurnLane>(
  caller: Pick<Caller, 'bulk' | 'callerClass' | 'name'>,
  lane: L,
  budget: Pick<Budget, 'laneOf'>,
): { readonly caller: string; readonly lane: L | 'bulk' } {
  const named = namedInBudget(caller);
  return { caller: named, lane: caller.bulk ? 'bulk' : budget.laneOf(lane, named) };
}

/** Remaining time that a caller waits for slots and for others, in milliseconds. */
export function patienceOf({ bulk, maxWaitMs, receipt }: Caller): number {
  return bulk ? Number.POSITIVE_INFINITY : Math.max(0, maxWaitMs - receipt.waitedMs);
}

/** Runs a task when a caller has waited this long, unless it waits without limit; returns a function that cancels it. */
export function giveUpAfter(clock: Clock, patienceMs: number, task: () => void): () => void {
  return patienceMs === Number.POSITIVE_INFINITY ? () => {} : clock.after(patienceMs, task);
}

/** Maximum number of requests of an operation, of which each caller may send `most`. */
export function mostCallsOf(
  { bulk, maxCalls }: Pick<Caller, 'bulk' | 'maxCalls'>,
  most: number,
): number {
  return bulk ? Number.POSITIVE_INFINITY : Math.min(maxCalls ?? most, most);
}

/** Watches each read of an operation, starting before its response, so that no change is missed. */
export interface ReadWatcher {
  /** A read starts, which `watch` watches; call the returned function when it has ended. */
  begin(of: KeyedRead, watch: (changed: WatchListener, watchers: Watchers) => Watch): () => void;
  /** Something else that is in the result, by its name; it has changed when `stateOf` returns another text. */
  look(name: string, stateOf: () => string): void;
}

/** A dry run: nothing is sent, and placeholders replace uncached responses. */
export interface PlannedMode {
  readonly kind: 'planned';
  readonly dryRun: DryRun;
  /** Whether no other page is read here, regardless of the content of the page. If absent, pages can follow. */
  readonly suffices?: (read: Read<unknown>) => boolean;
  /** True if a walk reads its pages again, to represent the unknown ones by placeholders. */
  readonly isAgain?: boolean;
  /**
   * The fields that need a read, as response paths without indices. `about` is `Read.about`, for readers that read
   * for several of them together.
   */
  readonly wantedBy?: (about?: number) => readonly string[];
}

/**
 * The mode of an operation that does not read as usual. `watched`: its reads are watched, and do
 * not count as use.
 */
export type ExecutionMode =
  | { readonly kind: 'watched'; readonly watcher: ReadWatcher }
  | PlannedMode;

/** The credential to read the cache with; without a caller if no operation is involved. */
export type Looking = Pick<Access, 'credential'> & Partial<Omit<Access, 'credential'>>;

/** The operation on whose behalf a request is made, and the credential it uses. */
export interface Access {
  readonly caller: Caller;
  readonly credential: Credential;
  readonly mode?: ExecutionMode | undefined;
  /** Present for a mutation field with an idempotency key. */
  readonly idempotency?: IdempotencyKey | undefined;
  /** Present if the caller must be admitted first. */
  readonly admittance?: Admittance | undefined;
}

/**
 * Whether a caller may use a key of the gateway. Before `admit` has resolved, nothing is read, written or sent for the
 * caller, and neither the cache nor the budget is revealed.
 */
export class Admittance {
  readonly #check: () => Promise<unknown>;
  #isAdmitted = false;

  /** `check` rejects for a caller who is not admitted; it is called each time, and uses the cache. */
  constructor(check: () => Promise<unknown>) {
    this.#check = check;
  }

  /** Whether the last check has admitted the caller. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  /** Resolves for an admitted caller; rejects with the error of the check. */
  async admit(): Promise<void> {
    try {
      await this.#check();
      this.#isAdmitted = true;
    } catch (error) {
      this.#isAdmitted = false;
      throw error;
    }
  }
}
