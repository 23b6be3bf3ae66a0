import type { TakenSlot } from './budget.ts';
import type { Lane } from './lanes.ts';

/** A slot that a request of this process has. */
export interface Held {
  readonly lane: Lane;
  readonly resource: string;
  readonly lengthy: boolean;
  /** When it ends, on `clock.now()`; infinite until it is answered. */
  end: number;
}

/** Slots that others have, and until when they count, on `clock.now()`. */
export interface Foreign {
  readonly owner: 'replica' | 'co-tenant';
  readonly count: number;
  readonly until: number;
}

/** All slots that are taken at a moment, the first to be free first, and those on the wire last. */
export function takenSlots(
  own: readonly Held[],
  foreign: readonly Foreign[],
  now: number,
): TakenSlot[] {
  const slots = own.map(({ end, lane, resource }) => ({ owner: lane, resource, end }));
  const others = foreign.flatMap(({ count, owner, until }) =>
    Array.from({ length: count }, () => ({ owner, resource: null, end: until })),
  );
  return [...slots, ...others]
    .sort((a, b) => (a.end === b.end ? 0 : a.end - b.end))
    .map(({ end, owner, resource }) => {
      return { owner, resource, freeInMs: end === Infinity ? null : end - now };
    });
}
