import type { Clock } from '../clock.ts';
import { copiedName } from '../observe/copied-name.ts';
import type { Observer } from '../observe/observer.ts';
import type { ServedKind } from '../upstream/receipt.ts';
import type { RememberedAnswer } from './remembered-answers.ts';

/** What is counted here is told after so long at the latest, in milliseconds: it belongs to its minute. */
const TELL_AFTER_MS = 60_000;
/** Names of operations that are counted on their own until they are told; those of the others go by none. */
const NAMES_COUNTED = 500;

/**
 * Counts what is answered in front of everything else in plain numbers until somebody looks, or a minute is over: to
 * count each with its labels would cost more than to answer.
 */
export class AnswerTally {
  readonly #clock: Clock;
  readonly #observer: Observer;
  #remembered = 0;
  #executed = 0;
  readonly #reads = new Map<string, { -readonly [K in keyof ServedKind]: ServedKind[K] }>();
  readonly #names = new Map<string | null, { runs: number; saved: number }>();
  /** Whether a timer runs that tells. */
  #timed = false;
  /** The answer that was given last, and how often in a row its reads are not counted yet. */
  #last: RememberedAnswer | null = null;
  #times = 0;

  /** `observer` is told. */
  constructor(clock: Clock, observer: Observer) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /** An operation was executed over what was at hand. Its reads are counted by those who served them. */
  countExecuted(name: string | null, saved: number): void {
    this.#executed += 1;
    if (!this.#timed) this.#tellLater();
    this.#countName(name, 1, saved);
  }

  /** An answer was given again. */
  count(answer: RememberedAnswer): void {
    this.#remembered += 1;
    if (answer !== this.#last) {
      this.#countReads();
      this.#last = answer;
      if (!this.#timed) this.#tellLater();
    }
    this.#times += 1;
  }

  #countReads(): void {
    const times = this.#times;
    let saved = 0;
    this.#times = 0;
    for (const read of this.#last?.reads ?? []) {
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

  #tellLater(): void {
    this.#timed = true;
    this.#clock.after(TELL_AFTER_MS, () => {
      this.#timed = false;
      this.tell();
    });
  }

  /** Tells what was counted since the last time. */
  tell(): void {
    const observer = this.#observer;
    this.#countReads();
    this.#last = null;
    for (const { upstream, resource, count } of this.#reads.values()) {
      observer.read?.(upstream, resource, 'hit', count);
    }
    observer.answeredInFront?.(this.#remembered, this.#executed, new Map(this.#names));
    this.#reads.clear();
    this.#names.clear();
    this.#remembered = 0;
    this.#executed = 0;
  }
}
