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
  /** This many wait before it here; present where its caller has no time to wait. */
  readonly rushPast?: number;
}

/** The requests that wait in this process. A store asks for them when it knows that it needs them. */
export interface Queue {
  /** Those whose turn is next, and how many wait in all. */
  wanted(): { readonly wants: readonly QueuedWant[]; readonly waits: WaitingCounts };
  /**
   * A slot was given back, after a refusal or not. `noted` resolves once the store knows; absent where it does now.
   */
  freed(refused: boolean, noted?: Promise<void>): void;
}

/** What a request has got: a slot, the request of another replica or its answer, or nothing yet. */
export interface Taken {
  readonly request: SlotRequest;
  readonly got: Slot | 'join' | 'landed' | null;
}

/** What came of a claim. Moments are on `clock.now()`. */
export interface Claimed {
  /** Those for whom something has come of it, and those who are to reckon with a wait. */
  readonly taken: readonly Taken[];
  /** When to claim again for the others; infinite for not before something changes. */
  readonly againAt: number;
  /** When to claim for those who come, at the soonest. */
  readonly newcomersAt: number;
}

/** Where the budget of one key is kept, and what gives its slots. */
export interface BudgetStore {
  /** How long a claim takes at most, in milliseconds. */
  readonly answersInMs: number;
  readonly rules: Rules;
  /** What a caller is called in the budget; absent where that is their name. */
  readonly nameOf?: (caller: string) => string;
  /** Holds the budget as last known, for what does not depend on the time: slots may be in it that are over. */
  readonly holder: { readonly budget: KeyBudget };
  /** The budget as it stands now, for estimates and for people: nothing is sent on its word. Purged at each look. */
  readonly view: BudgetView;
  /**
   * Claims slots for the first of those who wait. `lane` is the one whose turn is next: where it has no slot, none has;
   * absent where one of those who wait has no time for that. Never rejects.
   */
  claim(queue: Queue, lane?: Lane): AtOnce<Claimed>;
}
