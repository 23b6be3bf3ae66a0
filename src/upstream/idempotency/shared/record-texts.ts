import type { Sealing } from '../../../storage/sealing.ts';
import type { Ambiguity } from '../records.ts';
import {
  parseRecordLine,
  type RecordState,
  recordText,
  type SavedRecord,
  sentFor,
} from '../store/record-lines.ts';

/** The state of a key that nothing was sent for yet: no requests. */
const CLAIMED: RecordState = {
  kind: 'ambiguous',
  ambiguity: {
    attempts: 0,
    sentAt: 0,
    overAt: 0,
    baseline: null,
    candidates: [],
    isAbsent: false,
  },
};

/** A record in Redis. Times are on the clock of the reader or writer. */
export interface SharedRecord extends Omit<SavedRecord, 'state'> {
  /** `null` for a key that was never sent. */
  readonly state: RecordState | null;
}

/**
 * Encrypts records for Redis, and decrypts them. Their times are converted: in Redis, they are on the clock that all
 * replicas share.
 */
export class RecordTexts {
  readonly #sealing: Pick<Sealing, 'open' | 'seal'>;

  constructor(sealing: Pick<Sealing, 'open' | 'seal'>) {
    this.#sealing = sealing;
  }

  /** A record as text; `aheadMs` is by how much the shared clock is ahead of that of its times. */
  write({ state, ...record }: SharedRecord, aheadMs: number): string {
    const text = recordText(moved({ ...record, state: state ?? CLAIMED }, aheadMs));
    return this.#sealing.seal(nameOf(record.name), text).toString('base64');
  }

  /** The record of a name; `null` if it is of another version, or was not written with this secret. Never throws. */
  read(name: string, text: string, aheadMs: number): SharedRecord | null {
    const line = this.#sealing.open(nameOf(name), Buffer.from(text, 'base64'));
    const parsed = line === null ? null : parseRecordLine(line.trimEnd());
    if (parsed?.kind !== 'record' || parsed.record.name !== name) return null;
    const record = moved(parsed.record, -aheadMs);
    return { ...record, state: sentFor(record.state) === 0 ? null : record.state };
  }
}

function nameOf(name: string): string {
  return `k:${name}`;
}

/** The same with all times later by some milliseconds. */
function moved(record: SavedRecord, ms: number): SavedRecord {
  const { firstAt, state, until } = record;
  const isAmbiguous = state.kind === 'ambiguous';
  return {
    ...record,
    firstAt: Math.round(firstAt + ms),
    until: Math.round(until + ms),
    state: isAmbiguous ? { ...state, ambiguity: later(state.ambiguity, ms) } : state,
  };
}

function later(ambiguity: Ambiguity, ms: number): Ambiguity {
  const { overAt, sentAt } = ambiguity;
  return { ...ambiguity, sentAt: Math.round(sentAt + ms), overAt: Math.round(overAt + ms) };
}
