import type { Viewer } from '../auth/viewer.ts';
import { copiedName } from '../observe/callers.ts';
import { type BulkOptions, type EventStream, emitInBulk } from '../observe/event-stream.ts';
import type { EventRows, SavedKind } from '../observe/events.ts';
import { addSaved, type SavedKinds, type ServedKind } from '../upstream/receipt.ts';
import type { RememberedAnswer } from './remembered-answers.ts';

/** Maximum number of operation names counted between two events; the others are counted without a name. */
const NAMES_COUNTED = 500;
/** Maximum number of pairs of a caller and an operation; with more, events are emitted. */
const SAVERS_COUNTED = 500;

/** The avoided requests of a caller's operations of one name, by resource. */
interface Saver extends Pick<EventRows['saved'], 'caller' | 'callerClass' | 'operation'> {
  readonly kinds: SavedKinds;
}

/** Counts the responses of the fast path in plain numbers, and emits them in bulk. */
export class AnswerTally {
  readonly #events: EventStream;
  readonly #counted: () => void;
  #remembered = 0;
  #maxAgeMs = 0;
  readonly #reads = new Map<string, { -readonly [K in keyof ServedKind]: ServedKind[K] }>();
  readonly #names = new Map<string | null, { runs: number; saved: number }>();
  readonly #savers = new Map<string, Saver>();
  /** Whether avoided requests are counted by caller. */
  readonly #countsSavers: boolean;
  /** The last response and its caller, and the number of repetitions that are not counted yet. */
  #last: RememberedAnswer | null = null;
  #lastCaller: Viewer | null = null;
  #times = 0;

  constructor(options: BulkOptions) {
    this.#events = options.events;
    this.#countsSavers = options.events.isRead('saved');
    this.#counted = emitInBulk(options, () => this.#emit());
  }

  /** A remembered response was repeated for a caller. */
  count(answer: RememberedAnswer, caller: Viewer, ageMs: number): void {
    this.#remembered += 1;
    if (ageMs > this.#maxAgeMs) this.#maxAgeMs = ageMs;
    if (answer !== this.#last || (this.#countsSavers && !isSame(caller, this.#lastCaller))) {
      this.#countReads();
      this.#last = answer;
      this.#lastCaller = caller;
      this.#counted();
    }
    this.#times += 1;
  }

  #countReads(): void {
    const times = this.#times;
    const answer = this.#last;
    if (times === 0 || !answer) return;
    let saved = 0;
    this.#times = 0;
    const { kinds } = answer.ingredients;
    for (const read of kinds) {
      const count = read.count * times;
      const known = this.#reads.get(read.kind);
      if (known) known.count += count;
      else this.#reads.set(read.kind, { ...read, count });
      saved += count;
    }
    this.#countName(answer.name, times, saved);
    if (this.#countsSavers && this.#lastCaller) {
      this.#countSaver(this.#lastCaller, answer.name, kinds, times);
    }
  }

  #countSaver(
    { callerClass, name: caller }: Viewer,
    operation: string | null,
    kinds: readonly SavedKind[],
    times: number,
  ): void {
    const key = `${callerClass ?? ''}\n${operation}\n${caller}`;
    let saver = this.#savers.get(key);
    if (!saver) {
      if (this.#savers.size >= SAVERS_COUNTED) this.#emitSavers();
      const name = operation && copiedName(operation);
      saver = { caller, callerClass, operation: name, kinds: [] };
      this.#savers.set(key, saver);
    }
    for (const { count, resource, upstream } of kinds) {
      addSaved(saver.kinds, upstream, resource, count * times);
    }
  }

  #emitSavers(): void {
    for (const saver of this.#savers.values()) this.#events.emit('saved', { ...saver, times: 1 });
    this.#savers.clear();
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
    this.#lastCaller = null;
    this.#emitSavers();
    for (const { upstream, resource, count } of this.#reads.values()) {
      events.emit('reads', { upstream, resource, result: 'hit', times: count });
    }
    events.emit('answeredInBulk', {
      remembered: this.#remembered,
      names: new Map(this.#names),
      maxAgeMs: this.#maxAgeMs,
    });
    this.#reads.clear();
    this.#names.clear();
    this.#remembered = 0;
    this.#maxAgeMs = 0;
  }
}

/** Whether two callers are counted together. */
function isSame(one: Viewer, other: Viewer | null): boolean {
  return one.name === other?.name && one.callerClass === other.callerClass;
}
