import { RedisUnavailable } from '../../../redis/failures.ts';
import { scripts } from '../../../redis/lua/scripts.ts';
import { listOf } from '../../../redis/messages.ts';
import type { Replica } from '../../../redis/replica.ts';
import type { ProtocolTimes } from '../../../redis/times.ts';
import { inBackground } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';

/** A record that is written to Redis. */
export interface RecordPut {
  readonly name: string;
  /** The ownership of this replica; `-` if it has none. */
  readonly token: string;
  readonly sent: number;
  /** Whether it is still owned afterwards. */
  readonly owned: boolean;
  /** Until when it is kept, on `clock.now()`. */
  readonly until: number;
  /** Its text at a time on the clock shared by replicas; empty to delete it. */
  readonly textAt: (shared: number) => string;
  /** Whether it is only not owned any more: deleted if nothing was sent, and else as it is. */
  readonly asIs?: boolean;
}

interface OutboxOptions {
  readonly replica: Pick<Replica, 'call'>;
  readonly clock: Clock;
  readonly times: Pick<ProtocolTimes, 'beatMs' | 'leaseMs'>;
  /** Memory for all records in Redis, in bytes. */
  readonly maxBytes: number;
}

/** Maximum number of records of one command. */
export const RECORDS_PER_COMMAND = 100;
/** Commands in a row that find another epoch: then something is wrong with Redis. */
const MOST_AGAIN = 3;

/** A record that Redis does not have yet. */
interface Pending {
  readonly put: RecordPut;
  /** Called when it was sent for the first time, whatever the result. */
  readonly tried: () => void;
}

/**
 * Writes records to Redis, again and again until it gets through or their time is over. One command at a time is under
 * way. A later state of a record replaces one that is still waiting.
 */
export class RecordOutbox {
  readonly #options: OutboxOptions;
  readonly #waiting = new Map<string, Pending>();
  #isSending = false;
  #wake = (): void => {};
  #closed = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Resolves when the record was written, or the first attempt has failed. Never rejects. */
  put(put: RecordPut): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((tried) => {
      this.#waiting.get(put.name)?.tried();
      this.#waiting.set(put.name, { put, tried });
      if (!this.#isSending) inBackground(this.#sendAll());
    });
  }

  /** Redis is reachable again. */
  again(): void {
    this.#wake();
  }

  close(): void {
    this.#closed = true;
    for (const { tried } of this.#waiting.values()) tried();
    this.#waiting.clear();
    this.#wake();
  }

  async #sendAll(): Promise<void> {
    const { clock, times } = this.#options;
    this.#isSending = true;
    // Records of one turn are written together.
    await Promise.resolve();
    let again = 0;
    while (this.#waiting.size > 0) {
      const now = clock.now();
      for (const [name, { put, tried }] of this.#waiting) {
        if (put.until > now) continue;
        this.#waiting.delete(name);
        tried();
      }
      const batch = [...this.#waiting.values()].slice(0, RECORDS_PER_COMMAND);
      if (batch.length === 0) break;
      let waitMs = 0;
      try {
        again = (await this.#send(batch, now)) ? 0 : again + 1;
        if (again >= MOST_AGAIN) waitMs = times.beatMs;
      } catch (error) {
        waitMs = error instanceof RedisUnavailable ? times.leaseMs : times.beatMs;
      }
      if (waitMs === 0) continue;
      for (const { tried } of batch) tried();
      await new Promise<void>((resolve) => {
        const cancel = clock.after(waitMs, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#isSending = false;
  }

  /** Whether Redis has taken them: not if this replica did not know the epoch, as it does afterwards. */
  async #send(batch: readonly Pending[], now: number): Promise<boolean> {
    const { maxBytes: max, replica } = this.#options;
    const { rest } = await replica.call(scripts.put, (bounds) => {
      if (bounds === null) return [JSON.stringify({ records: [], max })];
      const records = batch.map(({ put: { asIs, name, owned, sent, token, until } }) => {
        return { name, token, sent, owned, asIs, ms: Math.ceil(until - now) };
      });
      const texts = batch.map(({ put }) => put.textAt(bounds.lower));
      return [JSON.stringify({ records, max }), ...texts];
    });
    const [isKnown, done] = rest;
    if (isKnown !== 1 || listOf(done).length < batch.length) return false;
    for (const pending of batch) {
      const { name } = pending.put;
      if (this.#waiting.get(name) === pending) this.#waiting.delete(name);
      pending.tried();
    }
    return true;
  }
}
