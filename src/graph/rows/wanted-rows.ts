import type { Access } from '../../upstream/operation.ts';

/** Which fields of a dry run need which rows, if their reads are batched. Inactive for other operations. */
export class WantedRows {
  readonly #fields = new Map<string, Set<string>>();

  /** A row of a batch is requested. */
  note(batch: string, id: number, { mode }: Access): void {
    if (mode?.kind !== 'planned' || !mode.wantedBy) return;
    const name = `${batch} ${id}`;
    const fields = this.#fields.get(name) ?? new Set();
    this.#fields.set(name, fields);
    for (const field of mode.wantedBy()) fields.add(field);
  }

  /** An access that names the fields that need a row, and for a page those that need any of its rows. */
  accessFor(batch: string, ids: readonly number[], access: Access): Access {
    const { mode } = access;
    if (mode?.kind !== 'planned' || !mode.wantedBy) return access;
    const fieldsOf = (id: number) => [...(this.#fields.get(`${batch} ${id}`) ?? [])];
    const wantedBy = (about?: number) =>
      about === undefined ? [...new Set(ids.flatMap(fieldsOf))] : fieldsOf(about);
    return { ...access, mode: { ...mode, wantedBy } };
  }
}
