import {
  type BulkOptions,
  copiedName,
  type EventStream,
  emitInBulk,
} from '../observe/event-stream.ts';
import type { ServedKind } from '../upstream/receipt.ts';
import type { RememberedAnswer } from './remembered-answers.ts';

/** Maximum number of operation names counted between two events; the others are counted without a name. */
const NAMES_COUNTED = 500;

/** Counts the responses of the fast path in plain numbers, and emits them in bulk. */
export class AnswerTally {
  readonly #events: EventStream;
  readonly #counted: () => void;
  #remembered = 0;
  #executed = 0;
  #maxAgeMs = 0;
  readonly #reads = new Map<string, { -readonly [K in keyof ServedKind]: ServedKind[K] }>();
  readonly #names = new Map<string | null, { runs: number; saved: number }>();
  /** The last response, and the number of its repetitions that are not counted yet. */
  #last: RememberedAnswer | null = null;
  #times = 0;

  constructor(options: BulkOptions) {
    this.#events = options.events;
    this.#counted = emitInBulk(options, () => this.#emit());
  }

  /** An operation was executed with cached data. Its reads are emitted where they are served. */
  countExecuted(name: string | null, saved: number, maxAgeMs: number): void {
    this.#executed += 1;
    if (maxAgeMs > this.#maxAgeMs) this.#maxAgeMs = maxAgeMs;
    this.#counted();
    this.#countName(name, 1, saved);
  }

  /** A remembered response was repeated. */
  count(answer: RememberedAnswer, ageMs: number): void {
    this.#remembered += 1;
    if (ageMs > this.#maxAgeMs) this.#maxAgeMs = ageMs;
    if (answer !== this.#last) {
      this.#countReads();
      this.#last = answer;
      this.#counted();
    }
    this.#times += 1;
  }

  #countReads(): void {
    const times = this.#times;
    let saved = 0;
    this.#times = 0;
    for (const read of this.#last?.ingredients.kinds ?? []) {
      const count = read.count * times;
      const known = this.#reads.get(read.kind);
      if (known) known.count += count;
      else this.#reads.set(read.kind, { ...read, count });
      saved += count;
    }
    if (times > 0) this.#countName(this.#last?.name ?? null, times, saved);
  }

  #countName(name: string | null, runs: number, saved: number): void {
    const key = this.#names.size < NAMES_COUNTED || this.#names.has(name) ? name : null;
    const known = this.#names.get(key);
    if (known) {
      known.runs += runs;
      known.saved += saved;
    } else {
      this.#names.set(key && copiedName(key), { runs, saved });
    }
  }

  #emit(): void {
    const events = this.#events;
    this.#countReads();
    this.#last = null;
    for (const { upstream, resource, count } of this.#reads.values()) {
      events.emit('reads', { upstream, resource, result: 'hit', times: count });
    }
    events.emit('answeredInBulk', {
      remembered: this.#remembered,
      executed: this.#executed,
      names: new Map(this.#names),
      maxAgeMs: this.#maxAgeMs,
    });
    this.#reads.clear();
    this.#names.clear();
    this.#remembered = 0;
    this.#executed = 0;
    this.#maxAgeMs = 0;
  }
}
