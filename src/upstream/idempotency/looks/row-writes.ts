import { BoundedMap } from '../../../bounded-map.ts';
import type { Access } from '../../operation.ts';

/** Rows whose latest writer is remembered. */
const MOST_ROWS = 10_000;
/** A write that was sent this long before the process has started is assumed to be followed by others. */
const LONGEST_GAP_MS = 60_000;

/** A row, see `Write.row`, and the credential to write it with. */
interface RowOf {
  readonly row: string;
  readonly access: Pick<Access, 'credential'>;
}

/** The latest writes to a row: of one key, and of others. */
interface Written {
  /** The key; `null` for a write without one. */
  key: string | null;
  at: number;
  /** The time of the latest write of another key. */
  before: number;
}

/** The latest writers of rows, as this process knows them. */
export class RowWrites {
  readonly #rows = new BoundedMap<Written>({ max: MOST_ROWS });
  readonly #since: number;

  /** Times are on `Records.now`; `since` is the start of the process. */
  constructor(since: number) {
    this.#since = since;
  }

  /** A row is about to be written. */
  note(of: RowOf, key: string | null, now: number): void {
    const row = nameOf(of);
    const known = this.#rows.get(row);
    const isSame = known !== undefined && key !== null && known.key === key;
    const before = known ? (isSame ? known.before : known.at) : Number.NEGATIVE_INFINITY;
    this.#rows.set(row, { key, at: now, before });
  }

  /** Whether another write than those with this key may have passed since a time. */
  hasPassed(of: RowOf, key: string, since: number): boolean {
    if (since < this.#since - LONGEST_GAP_MS) return true;
    const known = this.#rows.peek(nameOf(of));
    if (!known) return false;
    return known.key === key ? known.before > since : known.at > since;
  }
}

function nameOf({ access, row }: RowOf): string {
  return `${access.credential.partition} ${row}`;
}
