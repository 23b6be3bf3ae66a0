import type { Credential } from '../auth/credential.ts';
import type { UpstreamName } from '../errors.ts';
import type { CountName, KeyedRead, Stamp } from './request.ts';

/** The length of a step: one value is kept for each. Steps are in UTC. */
export type StepSize = 'HOUR' | 'DAY';

/** The value of a count in one step. */
export interface CountPoint {
  /** When the step begins, in milliseconds since the epoch. */
  readonly at: number;
  /** The last value received up to the end of the step; `null` if there was none. */
  readonly value: number | null;
  /** Whether a response with the value was received in the step. If not, `value` is from an earlier step. */
  readonly observed: boolean;
}

/** Names a series: the values of one count over time. */
export interface SeriesOf {
  readonly count: CountName;
  /** The id of the row; 0 for a count of which an account has one. */
  readonly id: number;
  /** See `Count.origin`; `undefined` if the row in hand does not say. */
  readonly origin?: string | null | undefined;
}

/** Which steps of a series are wanted: the `last` ones, up to the current one. */
export interface StepSpan {
  readonly step: StepSize;
  readonly last: number;
}

/** One credential of an upstream: its series are shown to no other. */
export interface SeriesOwner {
  readonly upstream: UpstreamName;
  readonly credential: Credential;
}

/**
 * The values that counts had over time, recorded from the responses of reads. It never sends a request, except for the
 * lists that an operator names. No method throws.
 */
export interface CountHistory {
  /** The cache has taken the response to a read. */
  stored(of: KeyedRead, value: unknown, stamp: Stamp): void;
  /** A row was deleted, or may have been if that is not `certain`. */
  deleted(owner: SeriesOwner, of: SeriesOf, certain: boolean): void;
  /** The points of the last steps, the oldest first. */
  points(owner: SeriesOwner, of: SeriesOf, span: StepSpan): CountPoint[];
  /** What the points of a series depend on: equal texts, equal points. */
  state(owner: SeriesOwner, of: SeriesOf, step: StepSize): string;
  /** Until when the points of a series change only with the cache, on `clock.now()`. */
  changesAt(step: StepSize): number;
}
