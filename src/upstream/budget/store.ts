import type { Slot, SlotRequest } from './budget.ts';
import type { WaitingCounts } from './law/callers/turns.ts';

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

/** The requests that wait for slots of a key. The store reads them when it needs them. */
export interface Queue {
  /** The requests whose turn is next, and the number of all waiting ones. */
  wanted(): { readonly wants: readonly QueuedWant[]; readonly waits: WaitingCounts };
  /** A slot was returned, with or without a refusal. */
  freed(refused: boolean): void;
}

/** A request with its slot. */
export interface Taken {
  readonly request: SlotRequest;
  readonly slot: Slot;
}

/** The result of a claim. Times are on `clock.now()`. */
export interface Claimed {
  readonly taken: readonly Taken[];
  /** When to claim again for the others; infinite if only a change requires it. */
  readonly againAt: number;
}
