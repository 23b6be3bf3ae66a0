import { reasonOf } from '../errors.ts';
import type { Clock } from '../scheduling/clock.ts';
import { type Engine, type Selection, type Span, StoreError } from './engine.ts';
import { isWithin } from './memory-engine.ts';

/** Maximum size of changes that are not written yet, in bytes. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
/** Size that is counted for a change besides its key and value, in bytes. */
const CHANGE_BYTES = 64;
/** After a failed write, the store tries again after this time, in milliseconds. */
const RETRY_MS = 1000;

interface StoreOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  /** Called with one sentence when changes cannot be written, once until they can. */
  readonly complain: (sentence: string) => void;
}

/** Changes of one transaction. */
interface Pending {
  cleared: Span[];
  values: Map<string, Buffer | null>;
  bytes: number;
}

/**
 * The state of the process that owns it, as the next owner finds it. Changes of one turn of the event loop are one
 * transaction; while one is written, those that follow are collected for the next. Memory is the truth of a running owner:
 * nothing is read back but at start, and what is too large for memory.
 */
export class Store {
  readonly #options: StoreOptions;
  #pending: Pending = empty();
  /** The end of the transaction of `#pending`; `null` without changes. */
  #next: Deferred | null = null;
  /** The transaction that is written now. */
  #writing: Promise<void> | null = null;
  #cancelRetry: (() => void) | null = null;
  #fault: StoreError | null = null;
  #isClosed = false;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Why changes cannot be written at this moment; `null` if they can. */
  get fault(): StoreError | null {
    return this.#fault;
  }

  /** Sets a value in the transaction of this turn. */
  put(key: string, value: Buffer | string): void {
    this.#change(key, typeof value === 'string' ? Buffer.from(value) : value);
  }

  /** Deletes a value in the transaction of this turn. */
  delete(key: string): void {
    this.#change(key, null);
  }

  /** Deletes all values of a span in the transaction of this turn. */
  clear(span: Span): void {
    const { cleared, values } = this.#pending;
    for (const [key, value] of values) {
      if (!isWithin(key, span)) continue;
      values.delete(key);
      this.#pending.bytes -= bytesOf(key, value);
    }
    cleared.push(span);
    this.#schedule();
  }

  /**
   * Resolves when a crash cannot lose any change made so far.
   * @throws StoreError if they cannot be written at this moment. The store tries again, unless it is `LOST`.
   */
  committed(): Promise<void> {
    if (this.#fault) return Promise.reject(this.#fault);
    return this.#next?.promise ?? this.#writing ?? Promise.resolve();
  }

  /** Reads values, with all changes made so far. */
  async *read(selection: Selection): AsyncIterable<readonly [string, Buffer]> {
    await this.committed();
    yield* this.#options.engine.read(selection);
  }

  /** The value of a key; `null` if there is none. */
  async get(key: string): Promise<Buffer | null> {
    for await (const [, value] of this.read({ from: key, to: `${key}\u0001`, limit: 1 }))
      return value;
    return null;
  }

  /** Writes what is pending, and lets another process own the store. Never throws. */
  async close(): Promise<void> {
    await this.committed().catch(() => {});
    this.#isClosed = true;
    this.#cancelRetry?.();
    await this.#options.engine.close().catch(() => {});
  }

  #change(key: string, value: Buffer | null): void {
    const { values } = this.#pending;
    const before = values.get(key);
    if (before !== undefined) this.#pending.bytes -= bytesOf(key, before);
    values.set(key, value);
    this.#pending.bytes += bytesOf(key, value);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isClosed || this.#next) return;
    this.#next = deferred();
    if (this.#writing || this.#cancelRetry) return;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    const next = this.#next;
    if (!next || this.#writing) return;
    const batch = this.#pending;
    this.#pending = empty();
    this.#next = null;
    this.#writing = next.promise;
    this.#write(batch).then(
      () => {
        this.#writing = null;
        this.#fault = null;
        next.resolve();
        this.#flush();
      },
      (error: unknown) => {
        this.#writing = null;
        this.#failed(batch, error);
        next.reject(this.#fault);
      },
    );
  }

  async #write(batch: Pending): Promise<void> {
    const { engine } = this.#options;
    if (this.#fault?.fault === 'LOST') throw this.#fault;
    if (this.#fault) await engine.recover();
    await engine.write(batch);
  }

  #failed(batch: Pending, error: unknown): void {
    const { clock, complain } = this.#options;
    const isNew = this.#fault === null;
    this.#fault =
      error instanceof StoreError
        ? error
        : new StoreError('UNAVAILABLE', reasonOf(error), { cause: error });
    if (isNew) complain(this.#fault.message);
    if (this.#fault.fault === 'LOST') {
      this.#next?.reject(this.#fault);
      this.#next = null;
      this.#pending = empty();
      return;
    }
    this.#pending = merged(batch, this.#pending);
    if (this.#pending.bytes > MAX_PENDING_BYTES) {
      this.#fault = new StoreError('LOST', 'Too many changes could not be written.');
      this.#pending = empty();
      this.#next?.reject(this.#fault);
      this.#next = null;
      return;
    }
    this.#next ??= deferred();
    this.#cancelRetry = clock.after(RETRY_MS, () => {
      this.#cancelRetry = null;
      this.#flush();
    });
  }
}

/** A promise and its functions. Nobody needs to await it. */
interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

function deferred(): Deferred {
  let resolve: Deferred['resolve'] = () => {};
  let reject: Deferred['reject'] = () => {};
  const promise = new Promise<void>((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

function empty(): Pending {
  return { cleared: [], values: new Map(), bytes: 0 };
}

function bytesOf(key: string, value: Buffer | null): number {
  return key.length + (value?.length ?? 0) + CHANGE_BYTES;
}

/** Two transactions as one. */
function merged(first: Pending, second: Pending): Pending {
  const { cleared } = second;
  const all = empty();
  all.cleared = [...first.cleared, ...cleared];
  for (const [key, value] of first.values) {
    if (!cleared.some((span) => isWithin(key, span))) all.values.set(key, value);
  }
  for (const [key, value] of second.values) all.values.set(key, value);
  for (const [key, value] of all.values) all.bytes += bytesOf(key, value);
  return all;
}
