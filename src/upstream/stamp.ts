/** When and as of which write an answer was asked for: settled when its request leaves. */
export interface Stamp {
  /** On the clock of the cache, which all who share its entries share. */
  readonly storedAt: number;
  /** The latest write that the answer is known to show. */
  readonly generation: number;
  /** The same for other replicas. */
  readonly shared?: SharedStamp;
}

/** When and as of which write an answer was asked for, as all replicas understand it. */
interface SharedStamp {
  /** On the clock that they share. */
  readonly at: number;
  /** Names what they remember together, within which writes are counted. */
  readonly epoch: string;
  readonly asOf: number;
}
