import type { KeyBudget } from '../law/document.ts';

/** A read that was sent with a slot, as replicas know it from the slot. */
export interface Flight {
  /** Names the read. */
  readonly key: string;
  /** When it was granted, on the clock that replicas share. */
  readonly at: number;
  /** The latest write that its answer shows at least. */
  readonly asOf: number;
  /** When its answer was stored for all, on that clock; absent where it is not. */
  readonly keptAt?: number;
}

/** A read that is looked for among those of other replicas. */
export interface Sought {
  readonly key: string;
  /** Tags that make an answer wrong. */
  readonly tags: readonly string[];
  /** An answer that is younger than this will do, in milliseconds... */
  readonly ttlMs: number;
  /** ... if it was asked for after this, on the clock that replicas share. */
  readonly newer: number;
}

/**
 * Whether another replica asks for the same now (`join`), or an answer was stored that will do (`landed`). `shows` tells
 * whether an answer that shows all writes up to a number is right for some tags.
 */
export function seek(
  b: KeyBudget,
  sought: Sought,
  of: {
    readonly shared: number;
    readonly isAway: (owner: string) => boolean;
    readonly shows: (tags: readonly string[], asOf: number) => boolean;
  },
): 'join' | 'landed' | undefined {
  let found: 'join' | 'landed' | undefined;
  const serves = (flight: unknown): flight is Flight =>
    isFlight(flight) &&
    flight.key === sought.key &&
    flight.at > sought.newer &&
    of.shows(sought.tags, flight.asOf);
  for (const { flight } of b.answered) {
    if (!serves(flight) || flight.keptAt === undefined) continue;
    if (of.shared - flight.keptAt < sought.ttlMs) found = 'landed';
  }
  for (const { flight, owner } of b.held) if (serves(flight) && of.isAway(owner)) found = 'join';
  return found;
}

function isFlight(value: unknown): value is Flight {
  return typeof value === 'object' && value !== null && 'key' in value && 'asOf' in value;
}
