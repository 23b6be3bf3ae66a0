import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Slot, SlotRequest } from './budget.ts';
import type { BudgetView } from './law/availability.ts';
import type { WaitingCounts } from './law/callers/turns.ts';
import type { KeyBudget, Lane, Rules } from './law/document.ts';

/** A request that a slot is claimed for. */
export interface QueuedWant {
  readonly request: SlotRequest;
  /** Its name in the turns, see `Lanes`. */
  readonly caller: string;
  /** Number of requests before it here; present if its caller has no time to wait. */
  readonly rushPast?: number;
  /** See `WantedSlot`. */
  readonly isDue?: boolean;
}

/** The requests that wait in this process. A store reads them when it needs them. */
export interface Queue {
  /** The requests whose turn is next, and the number of all waiting ones. */
  wanted(): { readonly wants: readonly QueuedWant[]; readonly waits: WaitingCounts };
  /**
   * A slot was returned, with or without a refusal. `noted` resolves when the store has recorded it; absent if that has
   * happened already.
   */
  freed(refused: boolean, noted?: Promise<void>): void;
}

/** The outcome for a request: a slot, the request of another replica or its response, a lost record, or none yet. */
export interface Taken {
  readonly request: SlotRequest;
  readonly got: Slot | 'join' | 'landed' | 'lost' | null;
}

/** The result of a claim. Times are on `clock.now()`. */
export interface Claimed {
  /** Requests with a result, and those that have to wait. */
  readonly taken: readonly Taken[];
  /** When to claim again for the others; infinite if only a change requires it. */
  readonly againAt: number;
  /** Earliest time of a claim for new requests. */
  readonly newcomersAt: number;
}

/** Stores the budget of one key, and grants its slots. */
export interface BudgetStore {
  /** Maximum duration of a claim, in milliseconds. */
  readonly answersInMs: number;
  readonly rules: Rules;
  /** The name of a caller in the budget; absent if the caller's own name is used. */
  readonly nameOf?: (caller: string) => string;
  /** The latest known budget, for values that do not depend on the time: it can contain slots that have ended. */
  readonly holder: { readonly budget: KeyBudget };
  /** The current budget, for estimates and display only. Purged at each access. */
  readonly view: BudgetView;
  /**
   * Claims slots for the first waiting requests. `lane` has the next turn: if it gets no slot, no lane does. Absent if a
   * waiting request has no time for that. Never rejects.
   */
  claim(queue: Queue, lane?: Lane): AtOnce<Claimed>;
}
