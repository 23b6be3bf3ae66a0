/** The members of every row of an account's data. */
export interface Row {
  readonly id: number;
  /** Id of the user who owns the row; other users never see it. */
  readonly owner: number;
}

/** The rows of one type, of all accounts. */
export class Table<R extends Row> {
  #rows: R[] = [];
  #lastId = 0;

  /** Rows of one account, newest (highest id) first: the order of every list of the sandbox. */
  of(owner: number): R[] {
    return this.#rows.filter((row) => row.owner === owner).toReversed();
  }

  /** Every row, for uniqueness across accounts and for public pages. */
  all(): readonly R[] {
    return this.#rows;
  }

  /** The account's row of this id. */
  find(owner: number, id: number): R | undefined {
    return this.#rows.find((row) => row.id === id && row.owner === owner);
  }

  /** Adds a row with the next id, or `skip` ids further: real ids have gaps. */
  add(row: Omit<R, 'id'>, skip = 0): R {
    this.#lastId += 1 + skip;
    const added = { ...row, id: this.#lastId } as R;
    this.#rows.push(added);
    return added;
  }

  /** Copies the rows of another table with their ids. The copies are shallow. */
  copyFrom(other: Table<R>, copy: (row: R) => R = (row) => ({ ...row })): void {
    this.#rows = other.#rows.map(copy);
    this.#lastId = other.#lastId;
  }

  /** Makes the next id greater than `id`. */
  startAfter(id: number): void {
    this.#lastId = id;
  }

  /** Removes a row of the account; false when there is none. */
  remove(owner: number, id: number): boolean {
    const before = this.#rows.length;
    this.#rows = this.#rows.filter((row) => row.id !== id || row.owner !== owner);
    return this.#rows.length < before;
  }

  /** Removes all rows of an account. */
  removeOwner(owner: number): void {
    this.#rows = this.#rows.filter((row) => row.owner !== owner);
  }
}
