import DataLoader from 'dataloader';
import type { Resource } from '../../resources.ts';
import { inBackground, UnderWay } from '../../scheduling/at-once.ts';
import { findById } from '../../upstream/lists/find-by-id.ts';
import type { ListSource } from '../../upstream/lists/read-pages.ts';
import type { Access } from '../../upstream/operation.ts';
import type { Row } from '../../upstream/request.ts';

/** What all fields of an operation have in common, so that their reads are batched. */
export class Batching {
  readonly #loaders = new Map<string, DataLoader<number, Row | null>>();
  /** Of a dry run only. */
  #wanted: WantedRows | null = null;
  readonly underWay = new UnderWay<Resource>();
  /** The turn of the event loop in which the next rows are resolved; null for the first. */
  turn: Promise<unknown> | null = null;
  rowsInTurn = 0;
  /** What was derived from reads for several fields, by name; forgotten with each write. */
  readonly derived = new Map<string, unknown>();

  /** Notes from now on which fields need which rows: for a dry run. */
  notesFields(): void {
    this.#wanted ??= new WantedRows();
  }

  /** Reads a row of a list together with others. See `Source.find`. */
  async find<R extends Row>(
    source: ListSource<R>,
    id: number,
    namedBy: readonly Resource[],
  ): Promise<R | null> {
    const { access, list } = source;
    const key = [list.path, ...namedBy].join(' ');
    let loader = this.#loaders.get(key);
    if (!loader) {
      loader = this.#loader(source, namedBy, key);
      this.#loaders.set(key, loader);
    }
    this.#wanted?.note(key, id, access);
    const load = loader.load(id);
    const { receipt } = access.caller;
    // Reads that wait to be planned also count as running.
    return (await (namedBy.length > 0 ? receipt.track(() => load) : load)) as R | null;
  }

  #loader<R extends Row>(
    { access, list, lists }: ListSource<R>,
    namedBy: readonly Resource[],
    key: string,
  ): DataLoader<number, Row | null> {
    const find = async (ids: readonly number[]) => {
      await access.admittance?.admit();
      return findById(lists, list, ids, this.#wanted?.accessFor(key, ids, access) ?? access);
    };
    const planTogether = (dispatch: () => void) =>
      inBackground(this.underWay.ended(namedBy).then(dispatch));
    return new DataLoader<number, Row | null>(
      async (ids) => {
        const rows = await this.underWay.track(list.resource, () => find(ids));
        return ids.map((id) => rows.get(id) ?? null);
      },
      {
        // Responses are cached one level below, where a write of this operation can invalidate them.
        cache: false,
        ...(namedBy.length > 0 ? { batchScheduleFn: planTogether } : {}),
      },
    );
  }
}

/** Which fields of a dry run need which rows, if their reads are batched. Inactive for other operations. */
class WantedRows {
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
