import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Slot, SlotRequest } from './budget.ts';
import type { BudgetView } from './law/availability.ts';
import type { KeyBudget, Lane, Rules } from './law/document.ts';
import type { WaitingCounts } from './law/turns.ts';

/** A request that a slot is claimed for. */
export interface QueuedWant {
  readonly request: SlotRequest;
  /** What it is called in the turns, see `Lanes`. */
  readonly caller: string;
  /** Number of requests before it here; present if its caller has no time to wait. */
  readonly rushPast?: number;
}

/** The requests that wait in this process. A store reads them when it needs them. */
export interface Queue {
  /** The requests whose turn is next, and how many wait in total. */
  wanted(): { readonly wants: readonly QueuedWant[]; readonly waits: WaitingCounts };
  /**
   * A slot was returned, after a refusal or not. `noted` resolves once the store has recorded it; absent if it has
   * already.
   */
  freed(refused: boolean, noted?: Promise<void>): void;
}

/** What a request has received: a slot, the request of another replica or its response, or nothing yet. */
export interface Taken {
  readonly request: SlotRequest;
  readonly got: Slot | 'join' | 'landed' | null;
}

/** What came of a claim. Moments are on `clock.now()`. */
export interface Claimed {
  /** Requests with a result, and those that must expect a wait. */
  readonly taken: readonly Taken[];
  /** When to claim again for the others; infinite for not before something changes. */
  readonly againAt: number;
  /** When to claim for new requests, at the earliest. */
  readonly newcomersAt: number;
}

/** Stores the budget of one key, and grants its slots. */
export interface BudgetStore {
  /** How long a claim takes at most, in milliseconds. */
  readonly answersInMs: number;
  readonly rules: Rules;
  /** The name of a caller in the budget; absent if that is the caller's own. */
  readonly nameOf?: (caller: string) => string;
  /** Holds the budget as last known, for what does not depend on the time: slots may be in it that are over. */
  readonly holder: { readonly budget: KeyBudget };
  /** The current budget, for estimates and display only. Purged at each access. */
  readonly view: BudgetView;
  /**
   * Claims slots for the first waiting requests. `lane` is the one whose turn is next: if it gets no slot, none
   * does; absent if a waiting request has no time for that. Never rejects.
   */
  claim(queue: Queue, lane?: Lane): AtOnce<Claimed>;
}
