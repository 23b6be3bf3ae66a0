import { reasonOf } from '../errors.ts';
import { type AtOnce, inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { inNextTurn, loopTurns } from '../scheduling/loop-turns.ts';
import { type Engine, type KeyRange, type Selection, StoreError } from './engine.ts';
import { isWithin } from './memory-engine.ts';

/** Maximum size of changes that are not written yet, in bytes. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
/** Size that is counted for a change besides its key and value, in bytes. */
const CHANGE_BYTES = 64;
/** After a failed write, the store tries again after this time, in milliseconds. */
const RETRY_MS = 1000;

interface StoreOptions {
  /** See `Store.knownSince`; 0 by default. */
  readonly knownSince?: number;
  /** See `Store.hasLost`; false by default. */
  readonly hasLost?: boolean;
  readonly engine: Engine;
  readonly clock: Clock;
  /** Called with one sentence when changes cannot be written, once until they can. */
  readonly complain: (sentence: string) => void;
}

/** Changes of one transaction. */
interface Pending {
  cleared: KeyRange[];
  values: Map<string, Buffer | null>;
  bytes: number;
}

/**
 * The state of the process that owns it, as the next owner finds it. Changes of one turn of the event loop are one
 * transaction; while one is written, those that follow are collected for the next. Memory is the truth of a running owner:
 * nothing is read back but at start, and what is too large for memory. Keys are ASCII, such as `kind/name`.
 */
export class Store {
  /**
   * Since when it has all changes, in milliseconds since 1970: what was before is not known. 0 if there was nothing before.
   */
  readonly knownSince: number;
  /** Whether changes before `knownSince` were lost; otherwise there was nothing before, or what was there was given up. */
  readonly hasLost: boolean;
  readonly #options: StoreOptions;
  readonly #lost = deferred<StoreError>();
  #pending: Pending = empty();
  /** The end of the transaction of `#pending`; `null` without changes. */
  #next: Deferred<void> | null = null;
  /** The transaction that is written now. */
  #writing: Promise<void> | null = null;
  #cancelRetry: (() => void) | null = null;
  /** Why changes cannot be written at this moment; after `LOST`, nothing is written any more. */
  #fault: StoreError | null = null;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.knownSince = options.knownSince ?? 0;
    this.hasLost = options.hasLost ?? false;
    options.engine.watch((fault) => {
      if (!this.#writing && !this.#fault) this.#failed(empty(), fault);
    });
  }

  /** Resolves with the reason if this process no longer owns the store; pending if it closes the store itself. */
  get lost(): Promise<StoreError> {
    return this.#lost.promise;
  }

  /** Whether it outlives the process. */
  get isDurable(): boolean {
    return this.#options.engine.isDurable;
  }

  /** Why changes cannot be written at this moment; `null` if they can. */
  get fault(): StoreError | null {
    return this.#fault;
  }

  /** Why no request may leave at this moment, see `saved`; `null` if one may. */
  get sendFault(): StoreError | null {
    const isFatal = this.#options.engine.isShared || this.#isLost();
    return isFatal ? this.#fault : null;
  }

  /** Sets a value in the transaction of this turn. */
  put(key: string, value: Buffer | string): void {
    this.#change(key, typeof value === 'string' ? Buffer.from(value) : value);
  }

  /** Deletes a value in the transaction of this turn. */
  delete(key: string): void {
    this.#change(key, null);
  }

  /** Deletes all values of a range in the transaction of this turn. */
  clear(span: KeyRange): void {
    const { cleared, values } = this.#pending;
    for (const [key, value] of values) {
      if (!isWithin(key, span)) continue;
      values.delete(key);
      this.#pending.bytes -= bytesOf(key, value);
    }
    cleared.push(span);
    this.#pending.bytes += CHANGE_BYTES;
    this.#schedule();
  }

  /**
   * Resolves when a crash cannot lose any change made so far. It may be left unawaited.
   * @throws StoreError if they cannot be written at this moment. The store tries again, unless it is `LOST`.
   */
  committed(): Promise<void> {
    if (!this.#fault) return this.#next?.promise ?? this.#writing ?? Promise.resolve();
    const failed = deferred<void>();
    failed.reject(this.#fault);
    return failed.promise;
  }

  /**
   * Resolves when a request may leave of which the changes so far are the record: they are saved, or cannot be, and no other
   * process can own the store meanwhile. Immediately if the store ends with this process.
   * @throws StoreError if nothing may be sent.
   */
  saved(): AtOnce<void> {
    const { isDurable, isShared } = this.#options.engine;
    if (!isDurable) return undefined;
    return this.committed().catch((error: unknown) => {
      if (isShared || faultOf(error).fault === 'LOST') throw error;
    });
  }

  /**
   * Reads values, with all changes made so far, in turns of the event loop.
   * @throws StoreError
   */
  async *read(selection: Selection): AsyncIterable<readonly [string, Buffer]> {
    await this.committed();
    for await (const entry of this.#options.engine.read(selection)) {
      yield entry;
      await loopTurns.pause('');
    }
  }

  /** Reads what is saved, also while changes cannot be. @throws StoreError */
  readSaved(selection: Selection): AsyncIterable<readonly [string, Buffer]> {
    return this.#options.engine.read(selection);
  }

  /**
   * The value of a key; `null` if there is none.
   * @throws StoreError
   */
  async get(key: string): Promise<Buffer | null> {
    for await (const [, value] of this.read({ from: key, to: `${key}\u0001`, limit: 1 }))
      return value;
    return null;
  }

  /** Writes what is pending, once more if that failed before, and lets another process own the store. Never throws. */
  async close(): Promise<void> {
    await this.#writing?.catch(() => {});
    await this.#flush();
    this.#cancelRetry?.();
    this.#fault = new StoreError('LOST', 'The store is closed.');
    await this.#options.engine.close().catch(() => {});
  }

  #isLost(): boolean {
    return this.#fault?.fault === 'LOST';
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
    if (this.#isLost()) {
      this.#pending = empty();
    } else if (this.#pending.bytes > MAX_PENDING_BYTES) {
      this.#lose(new StoreError('LOST', 'Too many changes could not be written to the store.'));
    } else if (!this.#next) {
      this.#next = deferred();
      if (!this.#writing && !this.#cancelRetry) inNextTurn(() => inBackground(this.#flush()));
    }
  }

  /** Writes what is pending. Never rejects. */
  async #flush(): Promise<void> {
    const { engine } = this.#options;
    const next = this.#next;
    if (!next || this.#writing || this.#isLost()) return;
    const batch = this.#pending;
    this.#pending = empty();
    this.#next = null;
    this.#writing = next.promise;
    try {
      if (this.#fault) await engine.recover();
      await engine.write(batch);
      if (!this.#isLost()) this.#fault = null;
      this.#writing = null;
      next.resolve();
      // In a turn of its own, so that no transaction ends within a turn.
      if (this.#next) inNextTurn(() => inBackground(this.#flush()));
    } catch (error) {
      this.#writing = null;
      this.#failed(batch, faultOf(error));
      next.reject(this.#fault);
    }
  }

  #failed(batch: Pending, fault: StoreError): void {
    if (fault.fault === 'LOST') this.#lose(fault);
    if (this.#isLost()) return;
    const { clock, complain } = this.#options;
    if (!this.#fault) complain(fault.message);
    this.#fault = fault;
    this.#next?.reject(fault);
    this.#next = null;
    this.#pending = merged(batch, this.#pending);
    this.#cancelRetry?.();
    this.#cancelRetry = clock.after(RETRY_MS, () => {
      this.#cancelRetry = null;
      inBackground(this.#flush());
    });
    this.#schedule();
  }

  #lose(fault: StoreError): void {
    if (this.#isLost()) return;
    this.#fault = fault;
    this.#cancelRetry?.();
    this.#pending = empty();
    this.#next?.reject(fault);
    this.#next = null;
    this.#options.complain(fault.message);
    this.#lost.resolve(fault);
  }
}

/** A promise and its functions. It may be left unawaited. */
interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

function deferred<T>(): Deferred<T> {
  let resolve: Deferred<T>['resolve'] = () => {};
  let reject: Deferred<T>['reject'] = () => {};
  const promise = new Promise<T>((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

function faultOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError('UNAVAILABLE', reasonOf(error), { cause: error });
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
  all.bytes = all.cleared.length * CHANGE_BYTES;
  for (const [key, value] of all.values) all.bytes += bytesOf(key, value);
  return all;
}
