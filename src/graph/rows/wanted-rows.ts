import type { Access } from '../../upstream/operation.ts';

/** Which fields of a dry run want which rows, where their reads are batched. Notes nothing of other operations. */
export class WantedRows {
  readonly #fields = new Map<string, Set<string>>();

  /** A row of a batch is asked for. */
  note(batch: string, id: number, { mode }: Access): void {
    if (mode?.kind !== 'planned' || !mode.wantedBy) return;
    const name = `${batch} ${id}`;
    const fields = this.#fields.get(name) ?? new Set();
    this.#fields.set(name, fields);
    for (const field of mode.wantedBy()) fields.add(field);
  }

  /** An access that names the callers who want a row, and for a page those who want any of its rows. */
  accessFor(batch: string, ids: readonly number[], access: Access): Access {
    const { mode } = access;
    if (mode?.kind !== 'planned' || !mode.wantedBy) return access;
    const fieldsOf = (id: number) => [...(this.#fields.get(`${batch} ${id}`) ?? [])];
    const wantedBy = (about?: number) =>
      about === undefined ? [...new Set(ids.flatMap(fieldsOf))] : fieldsOf(about);
    return { ...access, mode: { ...mode, wantedBy } };
  }
}
