/** The additional inputs of a step. */
export interface Surroundings {
  /** On the document's clock: certainly over, and no earlier than needed. */
  readonly now: number;
  /** By how much the document's clock can be ahead of `now`. */
  readonly unsureMs: number;
  /** `now` on the clock that all documents share. */
  readonly shared: number;
  /** For how long Redis has remembered, in milliseconds. */
  readonly ageMs: number;
  /** A write that has happened, counted in the epoch: the latest that is known of. */
  readonly n: number;
  /** The other replicas with a valid lease. */
  readonly others: ReadonlySet<string>;
  /** The bids of other replicas, by replica name. */
  readonly bids: ReadonlyMap<string, string>;
}

/** A write that may happen. */
interface Intent {
  readonly ms: number;
  readonly tags: readonly string[];
  /** The row that it changes. The change of the document is refused while another replica has locked it. */
  readonly row?: string;
  /** The lock of the row that this replica must hold. */
  readonly lock?: string;
}

/** The text of a record from now on; the change of the document is refused if the record has another token. */
interface RecordChange {
  readonly name: string;
  readonly token: string;
  /** See the scripts of records. */
  readonly sent: number;
  readonly text: string;
  readonly ms: number;
}

/** The names of intents for which a change was refused. */
interface Refusal {
  /** Whose record or lock another replica has now. */
  readonly lost: readonly string[];
  /** Whose row another replica has locked. */
  readonly excluded: readonly string[];
}

/** The effects of a step, applied together with its change of the document. */
export interface Effects {
  /** Whether it depends on the other replicas and their waiting requests. */
  inCompany?: boolean;
  /** What this replica waits for, and for how many milliseconds that counts; `null` for nothing. */
  bid?: { readonly text: string; readonly ms: number } | null;
  /** Tags that are touched if the replica is not heard of any more for this many milliseconds, by a name. */
  readonly intents: Map<string, Intent>;
  /** Records that are written in the same step, by the name of the intent. */
  readonly records: Map<string, RecordChange>;
  /** Called if the change was refused because of intents or records; then the step runs again. */
  readonly refused: ((refusal: Refusal) => void)[];
  /** Intents that count for this many more milliseconds from now on. */
  readonly renewed: Map<string, number>;
  readonly dropped: Set<string>;
  /** Messages of the channel, each sent always or only if another replica waits. */
  readonly messages: { readonly text: string; readonly always: boolean }[];
}

/** Changes a document; runs again if another replica was faster, and so must have no other effect. */
export type DocumentStep<D, T> = (document: D, surroundings: Surroundings, effects: Effects) => T;
