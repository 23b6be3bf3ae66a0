import type { Moment } from '../scheduling/clock.ts';
import type { EndedMessage, RecordMessage } from './messages.ts';
import type { LostTime } from './shared-clock.ts';

/** The reply of a script. */
export interface Reply {
  readonly epoch: string;
  /** Of the script in its epoch. */
  readonly number: number;
  /** On the shared clock. */
  readonly now: number;
  /** To a replica that is new in the epoch. */
  readonly lost: LostTime | null;
  /** When it was asked. */
  readonly sent: Moment;
  readonly rest: readonly unknown[];
}

/** The data received together with a document. */
export interface Heard {
  readonly epoch: string;
  /** On the shared clock. */
  readonly now: number;
  /** When it was requested, on `clock.now()`. */
  readonly sentAt: number;
  /** The latest write that Redis knows of, counted in its epoch. */
  readonly n: number;
  /** For how long Redis has remembered, in milliseconds. */
  readonly ageMs: number;
  /** A list of the other replicas whose lease runs. */
  readonly others: unknown;
}

/** A document that is to be known here as it is; `token` names what is known. */
export interface WatchedDocument {
  readonly name: string;
  readonly token: string;
  /** What Redis has of it. */
  look(reply: readonly unknown[], heard: Heard): void;
}

/** Listens to what a replica hears. */
export interface ReplicaListeners {
  /** Writes have touched tags: up to `n` all are known now. `low` is the highest number that Redis has forgotten. */
  touched(news: Touches): void;
  /** Redis has lost its data: earlier knowledge of it is invalid. */
  newEpoch(epoch: string): void;
  /** A replica knows of all writes of an epoch up to `n`. */
  acked(epoch: string, by: string, n: number): void;
  /** A request of another replica has ended. */
  ended(message: EndedMessage): void;
  /** Another replica has written a record. */
  recorded(message: RecordMessage): void;
  /** A beat was answered: the lease runs, `replicas` are alive, and `strangers` with another secret are kept out. */
  beaten(replicas: number, strangers: number): void;
  /** Redis has not carried out a beat, for a reason in its own words. */
  refused(reason: string): void;
  /** A beat was tried, answered or not. */
  tried(): void;
}

/** Numbers of writes, by the tags that they touched. */
interface Touches {
  readonly tags: readonly (readonly [tag: string, n: number])[];
  readonly n: number;
  readonly low: number;
}
