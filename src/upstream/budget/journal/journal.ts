/** What is written down of one request. */
export interface JournalEntry {
  /** Its response has ended. */
  ended(): void;
  /** It was not sent after all. */
  cancelled(): void;
}

/** What is written down of one key, and what the process before this one wrote. */
export interface KeyJournal {
  /** Until when each request of the process before counts, on `clock.now()`. */
  readonly recalled: readonly number[];
  /** Until when half the limit is left alone, on `clock.now()`, because it is not known what was spent. */
  readonly unknownUntil: number;
  /** Whether the process before used the key, and all that it spent is written down. */
  readonly isKnown: boolean;
  /** When the process before saw a co-tenant of the key, on `clock.now()`; `null` when it saw none. */
  readonly coTenantSeenAt: number | null;
  /** A request is about to leave. */
  begin(lengthy: boolean): JournalEntry;
  /** A co-tenant of the key was seen. */
  coTenantSeen(): void;
}

/** How long a key's requests count. */
export interface Span {
  readonly windowMs: number;
  /** How long a request may take. */
  readonly timeoutMs: number;
}

/** Remembers across processes which requests count, so that a restart does not double a limit. */
export interface Journal {
  /** The part of one key, by a name that is equal in all processes and does not reveal the key. */
  of(key: string, span: Span): KeyJournal;
  /** The folder that is this process's own to write to; `null` where there is none. */
  readonly folder: string | null;
  /** Lets the next process have it. */
  close(): void;
}

const unwritten: JournalEntry = { ended: () => {}, cancelled: () => {} };

/** Of a key that was never used before, and that ends with this process. */
export const newKey: KeyJournal = {
  recalled: [],
  unknownUntil: Number.NEGATIVE_INFINITY,
  isKnown: false,
  coTenantSeenAt: null,
  begin: () => unwritten,
  coTenantSeen: () => {},
};

/** For keys that begin and end with this process, as those of the embedded sandbox do. */
export const keysAreNew: Journal = {
  of: () => newKey,
  folder: null,
  close: () => {},
};

/** Has no data from before `startedAt`, on `clock.now()`, and writes nothing. */
export function noJournal(startedAt: number): Journal {
  return {
    of: (_key, { windowMs }) => ({ ...newKey, unknownUntil: startedAt + windowMs }),
    folder: null,
    close: () => {},
  };
}
