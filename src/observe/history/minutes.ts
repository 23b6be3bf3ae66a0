/** The length of a column, in milliseconds. */
export const MINUTE_MS = 60_000;
/** Columns that are kept. */
export const HOUR = 60;
/** Names that are counted separately in a minute. */
const NAMES = 100;
/** The name under which the counts of removed names are added. */
export const OTHER_NAMES = '';

/** The counts of a name. Fields that begin with `max` keep the largest value, all others are sums. */
export type Amounts<Field extends string> = Partial<Readonly<Record<Field, number>>>;

type CountsByName = Map<string, Record<string, number>>;

/**
 * Counts by name in each minute of the last hour. In a minute with more than 100 names, those used least recently count
 * as `OTHER_NAMES`. Times are milliseconds on `clock.now()`.
 */
export class Minutes<Field extends string> {
  readonly #minutes = new Map<number, CountsByName>();

  /** Adds to the counts of a name in the minute of a time. Amounts are negative for a reversal. */
  add(at: number, name: string, amounts: Amounts<Field>): void {
    const names = this.#namesOf(Math.floor(at / MINUTE_MS));
    put(names, name, amounts);
    while (names.size > NAMES) {
      const [[oldest, counts]] = names as unknown as [[string, Record<string, number>]];
      names.delete(oldest);
      put(names, OTHER_NAMES, counts);
    }
  }

  /** The names of each of the last minutes, the oldest first; the last one is the current minute. */
  columns(now: number, minutes = HOUR): ReadonlyMap<string, Amounts<Field>>[] {
    const first = Math.floor(now / MINUTE_MS) - minutes + 1;
    return Array.from(
      { length: minutes },
      (_, index) => (this.#minutes.get(first + index) ?? new Map()) as Map<string, Amounts<Field>>,
    );
  }

  /** The counts of each name over the last minutes. */
  sums(now: number, minutes = HOUR): ReadonlyMap<string, Amounts<Field>> {
    const sums: CountsByName = new Map();
    for (const column of this.columns(now, minutes)) {
      for (const [name, counts] of column) {
        const sum = sums.get(name);
        if (sum) addTo(sum, counts);
        else sums.set(name, { ...(counts as Record<string, number>) });
      }
    }
    return sums as Map<string, Amounts<Field>>;
  }

  /** The counts of all names over the last minutes. */
  total(now: number, minutes = HOUR): Amounts<Field> {
    const total: Record<string, number> = {};
    for (const column of this.columns(now, minutes)) {
      for (const counts of column.values()) addTo(total, counts);
    }
    return total as Amounts<Field>;
  }

  #namesOf(minute: number): CountsByName {
    const known = this.#minutes.get(minute);
    if (known) return known;
    for (const each of this.#minutes.keys()) {
      if (each <= minute - HOUR) this.#minutes.delete(each);
    }
    const names: CountsByName = new Map();
    this.#minutes.set(minute, names);
    return names;
  }
}

/** Adds to the counts of a name, which becomes the one used last. */
function put(names: CountsByName, name: string, amounts: Amounts<string>): void {
  const counts = names.get(name) ?? {};
  addTo(counts, amounts);
  names.delete(name);
  names.set(name, counts);
}

function addTo(counts: Record<string, number>, amounts: Amounts<string>): void {
  for (const field of Object.keys(amounts)) {
    const known = counts[field] ?? 0;
    const amount = amounts[field] ?? 0;
    counts[field] = field.startsWith('max') ? Math.max(known, amount) : known + amount;
  }
}

/** The two words of a key: the first contains no space. */
export function wordsOf(key: string): [first: string, rest: string] {
  const end = key.indexOf(' ');
  return [key.slice(0, end), key.slice(end + 1)];
}
