import { csvLine } from '../storage/csv.ts';
import { DAY_MS, type UsageRow } from './day-usage.ts';

/** What usage can be grouped by, in the order of columns. */
export const usageDimensions = [
  'day',
  'upstream',
  'resource',
  'callerClass',
  'caller',
  'operation',
] as const;

/** One of `usageDimensions`. */
export type UsageDimension = (typeof usageDimensions)[number];

/** Requests of one group; a member is `null` if the rows are not grouped by it. */
export interface UsageGroup {
  /** As `YYYY-MM-DD`, in UTC. */
  readonly day: string | null;
  readonly upstream: UsageRow['upstream'] | null;
  readonly resource: string | null;
  readonly callerClass: string | null;
  readonly caller: string | null;
  readonly operation: string | null;
  readonly calls: number;
  readonly saved: number;
}

/** The usage of some days. */
export interface UsageReport {
  /** By day if they are grouped by it, then by calls, the most first. */
  readonly groups: readonly UsageGroup[];
  readonly calls: number;
  readonly saved: number;
}

type CountedGroup = { -readonly [Member in keyof UsageGroup]: UsageGroup[Member] };

/** There are more groups than can be returned. */
export class TooManyGroups extends Error {
  override readonly name = 'TooManyGroups';
}

/** Adds up usage by some dimensions. */
export class UsageSums {
  readonly #by: readonly UsageDimension[];
  readonly #most: number;
  readonly #groups = new Map<string, CountedGroup>();
  #calls = 0;
  #saved = 0;

  /** `most` is the maximum number of groups. */
  constructor(by: readonly UsageDimension[], most: number) {
    this.#by = by;
    this.#most = most;
  }

  /**
   * Adds a row of a day.
   * @throws TooManyGroups
   */
  add(day: number, row: UsageRow): void {
    this.#calls += row.calls;
    this.#saved += row.saved;
    const key = this.#by.map((each) => (each === 'day' ? day : row[each])).join('\n');
    const known = this.#groups.get(key);
    if (known) {
      known.calls += row.calls;
      known.saved += row.saved;
      return;
    }
    if (this.#groups.size >= this.#most) throw new TooManyGroups();
    const values = { ...row, day: dateOf(day) };
    const members = usageDimensions.map((each) => [
      each,
      this.#by.includes(each) ? values[each] : null,
    ]);
    const { calls, saved } = row;
    this.#groups.set(key, { ...Object.fromEntries(members), calls, saved } as CountedGroup);
  }

  /** All that was added. */
  get report(): UsageReport {
    const groups = [...this.#groups.values()].sort(
      (one, other) =>
        (one.day ?? '').localeCompare(other.day ?? '') ||
        other.calls - one.calls ||
        other.saved - one.saved,
    );
    return { groups, calls: this.#calls, saved: this.#saved };
  }
}

/** Writes groups as CSV, see `csvLine`. */
export function usageCsv(by: readonly UsageDimension[], groups: readonly UsageGroup[]): string {
  const columns = [
    ...usageDimensions.filter((each) => by.includes(each)),
    'calls',
    'saved',
  ] as const;
  const lines = [columns, ...groups.map((group) => columns.map((each) => group[each]))];
  return lines.map(csvLine).join('');
}

/** A day as `YYYY-MM-DD`. */
export function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
