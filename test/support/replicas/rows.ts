/** A list that writes change and reads show. */
export type Noun = 'campaigns' | 'channels' | 'pixels';

/** The lists, in the order of nothing. */
export const nouns: readonly Noun[] = ['campaigns', 'channels', 'pixels'];

/** How many rows each list has; their ids begin at 1. */
export const ROWS = 4;

interface VersionedRow {
  name: string;
  /** The version of each name that the row has ever had. */
  readonly versions: Map<string, number>;
}

/**
 * What the upstream keeps. Each write gives its row a name that no write before it gave, so the name that
 * a read shows identifies the write, and the version of a name when that write took effect.
 */
export class VersionedRows {
  readonly #rows = new Map<string, VersionedRow>(
    nouns.flatMap((noun) =>
      Array.from({ length: ROWS }, (_, index) => [
        rowKey(noun, index + 1),
        { name: 'first', versions: new Map([['first', 0]]) },
      ]),
    ),
  );

  /** The names of a list's rows, by id. */
  list(noun: Noun): { id: number; name: string }[] {
    return Array.from({ length: ROWS }, (_, index) => ({
      id: index + 1,
      name: this.#row(noun, index + 1).name,
    }));
  }

  /** Makes a write take effect. */
  rename(noun: Noun, id: number, name: string): void {
    const row = this.#row(noun, id);
    row.name = name;
    row.versions.set(name, row.versions.size);
  }

  /** How many writes had taken effect on a row when it got this name; `undefined` before it has. */
  versionOf(noun: Noun, id: number, name: string): number | undefined {
    return this.#row(noun, id).versions.get(name);
  }

  #row(noun: Noun, id: number): VersionedRow {
    const row = this.#rows.get(rowKey(noun, id));
    if (!row) throw new Error(`no ${noun} has the id ${id}`);
    return row;
  }
}

/** One text for a row, unique over all lists. */
export function rowKey(noun: Noun, id: number): string {
  return `${noun}:${id}`;
}
