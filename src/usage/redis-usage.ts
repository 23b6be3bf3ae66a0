import type { RedisConnection } from '../redis/connection/connection.ts';
import { RedisRefused } from '../redis/failures.ts';
import { scripts } from '../redis/lua/scripts.ts';
import { listOf } from '../redis/messages.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Sealing } from '../storage/sealing.ts';
import { DayUsage, MOST_ROWS } from './day-usage.ts';
import { OTHERS_TOGETHER, rowIn, textOfKey, textOfRow, type UsageRow } from './usage-row.ts';
import { DAY_MS, KEPT_DAYS, type UsageStore } from './usage-store.ts';

/** Maximum number of rows in one command. */
const BATCH_ROWS = 100;
/** Maximum number of batches that may have failed; then nothing is sent until the first of them was added. */
const MOST_UNKNOWN = 50;
/** A command that failed is repeated after this time, in milliseconds. */
const RETRY_MS = 1000;

interface RedisUsageOptions {
  readonly clock: Clock;
  readonly connection: Pick<RedisConnection, 'run'>;
  readonly sealing: Pick<Sealing, 'name' | 'open' | 'seal'>;
  /** The name of this replica. */
  readonly replica: string;
}

/** Requests of a day, with the number of the command that adds them. */
interface Batch {
  readonly day: number;
  readonly number: number;
  readonly rows: readonly UsageRow[];
}

/**
 * Keeps usage in Redis, for all replicas, with names that only they can read. A request is added by a command that is
 * sent in the same turn; commands that may have failed are repeated, and counted once.
 */
export class RedisUsage implements UsageStore {
  readonly #options: RedisUsageOptions;
  /** Bounds the operations of each caller. */
  #today: DayUsage;
  /** What no command has added yet, by day. */
  readonly #pending = new Map<number, DayUsage>();
  /** Batches that may not have been added, in order. */
  readonly #unknown = new Map<number, Batch>();
  #batches = 0;
  readonly #running = new Set<Promise<void>>();
  /** Batches whose latest command failed. */
  readonly #failed = new Set<Batch>();
  #sendsSoon = false;
  #isClosed = false;

  constructor(options: RedisUsageOptions) {
    this.#options = options;
    this.#today = new DayUsage(this.#day);
  }

  get firstDay(): number {
    return this.#day - KEPT_DAYS + 1;
  }

  get #day(): number {
    return Math.floor(this.#options.clock.wall() / DAY_MS);
  }

  callsBefore(): number {
    // The shared budget remembers them.
    return 0;
  }

  add(day: number, row: UsageRow): void {
    if (day > this.#today.day) this.#today = new DayUsage(day);
    const pending = this.#pending.get(day) ?? new DayUsage(day);
    this.#pending.set(day, pending);
    pending.add(this.#today.add(row));
    if (row.calls > 0) {
      // Before the request is written to its socket.
      this.#send();
    } else if (!this.#sendsSoon) {
      this.#sendsSoon = true;
      // What was avoided is emitted in bulk.
      queueMicrotask(() => this.#send());
    }
  }

  async read(day: number): Promise<readonly UsageRow[]> {
    await this.#settled();
    const found = listOf(await this.#run('usageOf', [String(day)])).map(String);
    const rows: UsageRow[] = [];
    for (let at = 0; at < found.length; at += 4) {
      const [name = '', text = '', calls, saved] = found.slice(at, at + 4);
      const row = rowIn(this.#open(name, text) ?? '');
      if (row) rows.push({ ...row, calls: Number(calls), saved: Number(saved) });
    }
    return rows;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#settled();
  }

  /** Repeats the commands that failed. */
  again(): void {
    for (const batch of this.#failed) this.#retry(batch);
  }

  /** Resolves when the running commands have ended. */
  async #settled(): Promise<void> {
    this.#send();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Adds what is pending, if not too many batches may have failed. */
  #send(): void {
    this.#sendsSoon = false;
    while (this.#unknown.size < MOST_UNKNOWN) {
      const batch = this.#next();
      if (!batch) return;
      this.#unknown.set(batch.number, batch);
      this.#add(batch);
    }
  }

  #retry(batch: Batch): void {
    if (this.#failed.delete(batch)) this.#add(batch);
  }

  #add(batch: Batch): void {
    const running = this.#addOnce(batch).finally(() => this.#running.delete(running));
    this.#running.add(running);
    inBackground(running);
  }

  /** Adds a batch; after a failure later again. */
  async #addOnce(batch: Batch): Promise<void> {
    try {
      await this.#run('addUsage', this.#argumentsOf(batch));
      this.#unknown.delete(batch.number);
      if (this.#pending.size > 0) this.#send();
    } catch (error) {
      if (this.#isClosed) return;
      // What Redis refuses can be a permission that its operator is about to grant.
      const retryMs = error instanceof RedisRefused ? 10 * RETRY_MS : RETRY_MS;
      this.#failed.add(batch);
      this.#options.clock.after(retryMs, () => this.#retry(batch));
    }
  }

  /** The next batch; `null` if nothing is pending. */
  #next(): Batch | null {
    const [next] = this.#pending;
    if (!next) return null;
    const [day, usage] = next;
    const { rows } = usage;
    this.#pending.delete(day);
    if (rows.length > BATCH_ROWS) {
      const left = new DayUsage(day);
      for (const row of rows.slice(BATCH_ROWS)) left.add(row);
      this.#pending.set(day, left);
    }
    this.#batches += 1;
    return { day, number: this.#batches, rows: rows.slice(0, BATCH_ROWS) };
  }

  #argumentsOf({ day, number, rows }: Batch): string[] {
    const [firstUnknown = number] = this.#unknown.keys();
    const known = firstUnknown - 1;
    const head = [day, KEPT_DAYS, this.#options.replica, number, known, MOST_ROWS].map(String);
    const ofRows = rows.flatMap((row) => {
      const others = { ...row, caller: OTHERS_TOGETHER, operation: OTHERS_TOGETHER };
      const counts = [String(row.calls), String(row.saved)];
      return [...this.#named(row), ...this.#named(others), ...counts];
    });
    return [...head, ...ofRows];
  }

  /** The name and the encrypted key of a row. */
  #named(row: UsageRow): [name: string, text: string] {
    const { sealing } = this.#options;
    const name = sealing.name('usage', textOfKey(row));
    const text = textOfRow({ ...row, calls: 0, saved: 0 });
    return [name, sealing.seal(`usage ${name}`, text).toString('base64')];
  }

  #open(name: string, text: string): string | null {
    return this.#options.sealing.open(`usage ${name}`, Buffer.from(text, 'base64'));
  }

  #run(name: 'addUsage' | 'usageOf', args: readonly string[]): Promise<unknown> {
    return this.#options.connection.run(scripts[name], args);
  }
}
