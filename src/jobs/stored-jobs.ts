import { reasonOf } from '../errors.ts';
import type { KeyRange, Selection } from '../store/engine.ts';
import type { Store } from '../store/store.ts';
import { type JobRecord, parseJobRecord } from './job.ts';

/** Maximum size of a value with output, in bytes. */
const PIECE_BYTES = 64 * 1024;
/** Values that are read at once, so that a slow reader holds little memory. */
const PIECES_AT_ONCE = 4;
/** Maximum size of what a store in memory holds of jobs, in bytes. */
const MEMORY_BYTES = 64 * 1024 ** 2;
/** Of an offset in a key: those of 1 TB have 13. */
const OFFSET_DIGITS = 15;

/** There is no room for more output in the limit of all jobs. The message is one for callers. */
export class JobStorageFull extends Error {
  override readonly name = 'JobStorageFull';
}

/** An output was removed while it was read. */
export class OutputRemoved extends Error {
  override readonly name = 'OutputRemoved';
}

/** What a step adds to the output of a job. */
export interface AddedOutput {
  /** Whole lines. */
  readonly lines: string;
  /** Identities of the rows in them. */
  readonly seen: readonly string[];
}

/** The row of a job. Its output is in the rows `output/<id>/<offset>`, the identities are in `seen/<id>/<offset>`. */
interface SavedJob {
  readonly record: JobRecord;
  /** Size of the output in bytes; `null` if it was removed. */
  readonly bytes: number | null;
  readonly seenBytes: number;
}

/** The jobs of a gateway with their output, in the store. Costs no upstream request. */
export class StoredJobs {
  readonly #store: Store;
  readonly #space: Space;
  readonly #jobs = new Map<string, StoredJob>();

  private constructor(store: Store, maxBytes: number) {
    this.#store = store;
    this.#space = new Space(store.isDurable ? maxBytes : Math.min(maxBytes, MEMORY_BYTES));
  }

  /**
   * Loads the jobs of the owners before. One that cannot be read is reported and skipped.
   * @throws StoreError
   */
  static async load(
    store: Store,
    { complain, maxBytes }: { complain: (sentence: string) => void; maxBytes: number },
  ): Promise<StoredJobs> {
    const jobs = new StoredJobs(store, maxBytes);
    for await (const [key, value] of store.read(below('job'))) {
      try {
        const { record, ...sizes } = JSON.parse(value.toString('utf8'));
        jobs.#add({ ...sizes, record: parseJobRecord(record) });
      } catch (error) {
        complain(
          `The value ${key} of the store cannot be read; the job is skipped (${reasonOf(error)}).`,
        );
      }
    }
    return jobs;
  }

  get all(): readonly StoredJob[] {
    return [...this.#jobs.values()];
  }

  get(id: string): StoredJob | null {
    return this.#jobs.get(id) ?? null;
  }

  /** Saves a new job. If the store cannot be written now, it saves the job later. */
  async create(record: JobRecord): Promise<StoredJob> {
    const job = this.#add({ record, bytes: 0, seenBytes: 0 });
    await job.save(record).catch(() => {});
    return job;
  }

  /** Removes a job with its output. */
  remove(job: StoredJob): void {
    this.#jobs.delete(job.id);
    job.remove();
  }

  #add(row: SavedJob): StoredJob {
    const job = new StoredJob(this.#store, this.#space, row);
    this.#jobs.set(job.id, job);
    return job;
  }
}

/** One job. What changes it is in effect at once, and is one transaction. */
export class StoredJob {
  readonly id: string;
  readonly #store: Store;
  readonly #space: Space;
  #row: SavedJob;
  #rowBytes = 0;

  constructor(store: Store, space: Space, row: SavedJob) {
    this.id = row.record.id;
    this.#store = store;
    this.#space = space;
    this.#row = row;
    space.bytes += (row.bytes ?? 0) + row.seenBytes;
    this.#count(JSON.stringify(row).length);
  }

  get record(): JobRecord {
    return this.#row.record;
  }

  /** The size of its output, which only grows, in bytes; `null` if it was removed. */
  get outputBytes(): number | null {
    return this.#row.bytes;
  }

  /**
   * Saves a record together with what a step adds to the output. Resolves when a crash cannot lose them.
   * @throws JobStorageFull if there is no room, and nothing has changed; StoreError if the changes are saved only later.
   */
  async save(record: JobRecord, { lines, seen }: AddedOutput = NOTHING): Promise<void> {
    const { bytes, seenBytes } = this.#row;
    const data = Buffer.from(lines);
    const identities = Buffer.from(seen.length > 0 ? JSON.stringify(seen) : '');
    this.#space.take(data.length + identities.length);
    this.#putPieces('output', bytes ?? 0, data);
    if (identities.length > 0) this.#store.put(this.#keyOf('seen', seenBytes), identities);
    const grown = bytes === null ? null : bytes + data.length;
    this.#put({ record, bytes: grown, seenBytes: seenBytes + identities.length });
    await this.#store.committed();
  }

  /** Saves a record, and removes the output: who is reading it is told by `OutputRemoved`. @throws StoreError as `save`. */
  async discardOutput(record: JobRecord): Promise<void> {
    this.#clear();
    this.#put({ record, bytes: null, seenBytes: 0 });
    await this.#store.committed();
  }

  /** Removes it with its output. */
  remove(): void {
    this.#clear();
    this.#store.delete(this.#key);
    this.#count(0);
  }

  /** The identities of all rows in the output, in their order. @throws StoreError while they are consumed. */
  async *seen(): AsyncGenerator<string, void> {
    for await (const [, value] of this.#store.read(below(`seen/${this.id}`))) {
      yield* JSON.parse(value.toString('utf8')) as string[];
    }
  }

  /**
   * The bytes of the output from `start` up to and without `end`, read as they are consumed, also while the store cannot be
   * written.
   * @throws OutputRemoved, StoreError
   */
  async *pieces(start: number, end: number): AsyncGenerator<Buffer, void> {
    let at = start;
    let from = this.#keyOf('output', start);
    const first = { from: this.#keyOf('output', 0), to: `${from}~`, reverse: true, limit: 1 };
    // The piece that the first byte is in.
    for (const [key] of start < end ? await this.#read(first) : []) from = key;
    while (at < end) {
      const to = this.#keyOf('output', end);
      const page = await this.#read({ from, to, limit: PIECES_AT_ONCE });
      for (const [key, value] of page) {
        const begin = Number(key.slice(-OFFSET_DIGITS));
        if (begin > at) throw new OutputRemoved();
        const piece = value.subarray(at - begin, end - begin);
        at += piece.length;
        yield piece;
      }
      if (page.length === 0) throw new OutputRemoved();
      from = this.#keyOf('output', at);
    }
  }

  /** No iterator stays open while a slow reader takes what was read. */
  async #read(selection: Selection): Promise<(readonly [string, Buffer])[]> {
    const found: (readonly [string, Buffer])[] = [];
    const values = this.#store.fault
      ? this.#store.readSaved(selection)
      : this.#store.read(selection);
    for await (const each of values) found.push(each);
    return found;
  }

  #putPieces(kind: string, start: number, bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      this.#store.put(this.#keyOf(kind, start + at), bytes.subarray(at, at + PIECE_BYTES));
    }
  }

  #put(row: SavedJob): void {
    const text = JSON.stringify(row);
    this.#row = row;
    this.#store.put(this.#key, text);
    this.#count(text.length);
  }

  #clear(): void {
    const { bytes, seenBytes } = this.#row;
    this.#space.bytes -= (bytes ?? 0) + seenBytes;
    for (const kind of ['output', 'seen']) this.#store.clear(below(`${kind}/${this.id}`));
  }

  #count(rowBytes: number): void {
    this.#space.bytes += rowBytes - this.#rowBytes;
    this.#rowBytes = rowBytes;
  }

  get #key(): string {
    return `job/${this.id}`;
  }

  #keyOf(kind: string, offset: number): string {
    return `${kind}/${this.id}/${String(offset).padStart(OFFSET_DIGITS, '0')}`;
  }
}

const NOTHING: AddedOutput = { lines: '', seen: [] };

/** The size of all jobs in bytes. Records have no limit: a job must be able to end. */
class Space {
  readonly #maxBytes: number;
  bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes space for output. @throws JobStorageFull */
  take(bytes: number): void {
    if (bytes > 0 && this.bytes + bytes > this.#maxBytes) {
      throw new JobStorageFull(
        `The output of all jobs has reached its limit of ${this.#maxBytes} bytes. Wait until jobs expire, or raise JOBS_MAX_BYTES.`,
      );
    }
    this.bytes += bytes;
  }
}

/** All keys that begin with a text and a slash. */
function below(prefix: string): KeyRange {
  return { from: `${prefix}/`, to: `${prefix}0` };
}
