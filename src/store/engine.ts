/** Keys from `from`, inclusive, to `to`, exclusive, in the order of their characters. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

/** Which values are read, and in which order. */
export interface Selection extends KeyRange {
  /** From the last to the first; by default from the first to the last. */
  readonly reverse?: boolean;
  /** Maximum number of values; by default all. */
  readonly limit?: number;
}

/** Changes that are made together or not at all: the spans are cleared first. */
export interface Batch {
  readonly cleared: readonly KeyRange[];
  /** By key; `null` deletes. */
  readonly values: ReadonlyMap<string, Buffer | null>;
}

/** The owner of a store, as other processes find it. */
export interface Owner {
  /** Its internal address, such as `http://127.0.0.1:4000`. */
  readonly url: string;
  /** Signs the requests that others forward to it: 32 random bytes as base64url, new with each owner. */
  readonly secret: string;
}

/** A database that this process has for itself. Its methods throw `StoreError`. */
export interface Engine {
  /** Whether its values outlive the process. */
  readonly isDurable: boolean;
  /** Whether another process can own it while this one cannot write it: then nothing is sent that is not saved. */
  readonly isShared: boolean;
  /** Whether it has all changes of the owners before; false for a new one. */
  readonly isComplete: boolean;
  /** Whether it takes the place of a damaged one. */
  readonly isReplacement: boolean;
  /** Calls `broken` when it is known, before the next write, that the next one fails: until `recover`. */
  watch(broken: (fault: StoreError) => void): void;
  /** Resolves when a crash of the machine cannot lose the changes. */
  write(batch: Batch): Promise<void>;
  /** Reads what was written, in pages: what is written meanwhile may be part of it. */
  read(selection: Selection): AsyncIterable<readonly [string, Buffer]>;
  /** Makes it usable again after a failed write. Throws `LOST` if another process has owned it meanwhile. */
  recover(): Promise<void>;
  /** Lets another process own it. */
  close(): Promise<void>;
}

/** Another process owns the database. */
export interface Occupied {
  /** The owner; `null` if it is not known at this moment. */
  owner(): Promise<Owner | null>;
  /**
   * Resolves with the engine when this process owns it; rejects with the reason of `signal`, or a `StoreError`. `usable` is
   * called when the database can be used, while another process owns it.
   */
  own(signal: AbortSignal, usable?: () => void): Promise<Engine>;
  /** Ends the session of an owner that does not answer; false if only its own end frees the database. */
  depose(): Promise<boolean>;
}

/** The result of an attempt to own a database. */
export type Attempt = { readonly engine: Engine } | { readonly occupied: Occupied };

/** Why a store cannot be used. */
export type StoreFault =
  /** It cannot be written at this moment: the disk is full, the folder read-only, or the server away. */
  | 'UNAVAILABLE'
  /** This process owns it no more: another does, its folder was removed, or it is closed. Nothing more is written. */
  | 'LOST'
  /** A newer version of the gateway has written it. */
  | 'NEWER';

/** A store cannot be read or written. */
export class StoreError extends Error {
  readonly fault: StoreFault;

  constructor(fault: StoreFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
