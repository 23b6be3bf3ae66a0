import { FairQueue } from '../../scheduling/fair-queue.ts';
import { classOf, weightOf } from './law/callers.ts';
import type { Lane, Rules } from './law/document.ts';

/** An entry that waits for a slot. */
export interface Waiting {
  lane: Lane;
  /** The caller that a slot is charged to in the fair order, see `callerInClass`; not a credential. */
  caller: string;
  /** True for a request that is always long, such as an upload: no other request waits for its headers. */
  readonly lengthy?: boolean;
  /** Among refreshes, the one with the largest value is first. Evaluated for every choice. */
  readonly urgency: () => number;
}

/** A request that wants a slot. */
export interface SlotRequest extends Waiting {
  /** The resource, e.g. `channels`. */
  readonly resource: string;
  /** The name of the operation that waits for it; `null` if there is none. */
  readonly operation: string | null;
  /** How long it has waited so far, in milliseconds. */
  readonly waitedMs: number;
  /** Whether only jobs wait for it. */
  readonly isForJobs?: boolean;
  /**
   * Whether the request stays in its lane although a pause or a shutdown delays its turn by about this many
   * milliseconds. If not, it has canceled itself. Called immediately, because requests that leave the queue advance
   * the others.
   */
  accepts(delayMs: number): boolean;
}

/** Whether an entry may have a slot now: equal for all of a caller in a lane. */
type MayGo<W> = (entry: W) => boolean;

/** Number of writes in a row of a class that go before its next waiting read. */
const WRITES_IN_A_ROW = 3;
const WRITE_FIRST = ['write', 'interactive'] as const;
const READ_FIRST = ['interactive', 'write'] as const;
const BULK = ['bulk'] as const;

/** Turns that classes share: of reads and writes with weight, then of those without, and of the lane `bulk`. */
type Turns = 'weighted' | 'without' | 'bulk';

/** One lane of a class: its callers take turns. Entries whose turn had no result go before all others. */
interface Line<W extends Waiting> {
  readonly again: W[];
  readonly callers: FairQueue<W>;
  size: number;
}

/** The lanes of a class of callers. */
interface ClassLines<W extends Waiting> {
  readonly weight: number;
  readonly lines: Readonly<Record<Exclude<Lane, 'refresh'>, Line<W>>>;
  /** Start tags of its next slot. */
  readonly tags: Record<Turns, number>;
  /** Number of writes since its last read, while its reads waited. */
  writesInARow: number;
}

/**
 * The waiting entries, in the order in which the law grants slots: the classes of callers by weight, in each writes before
 * reads, and in each lane its callers equally; then refreshes, then the lane `bulk`, in which classes take equal turns.
 * Implements: start-time fair queueing. Each slot moves the tag of its class on by the inverse of the weight, and the
 * class with the lowest tag is next. A class that begins to wait starts at the tag of the latest slot.
 */
export class Queue<W extends Waiting> {
  /** Number of waiting entries in each lane. */
  readonly sizes = { write: 0, interactive: 0, refresh: 0, bulk: 0 };
  readonly #rules: Pick<Rules, 'classes'>;
  readonly #classes = new Map<string, ClassLines<W>>();
  readonly #refreshes = new Set<W>();
  /** The tags of the latest slots. */
  readonly #latest = { weighted: 0, without: 0, bulk: 0 };

  constructor(rules: Pick<Rules, 'classes'> = {}) {
    this.#rules = rules;
  }

  /** The entries of some lanes, in no order. */
  *in(...lanes: readonly Lane[]): Generator<W> {
    for (const lane of lanes) {
      if (lane === 'refresh') yield* this.#refreshes;
      else {
        for (const { lines } of this.#classes.values()) {
          yield* lines[lane].again;
          yield* lines[lane].callers;
        }
      }
    }
  }

  /** A copy for a simulation, during which this queue must not change. */
  copy(): Queue<W> {
    const copy = new Queue<W>(this.#rules);
    const copied = ({ again, callers, size }: Line<W>): Line<W> => {
      return { again: [...again], callers: callers.copy(), size };
    };
    for (const [name, { lines, tags, ...of }] of this.#classes) {
      const [write, interactive] = [copied(lines.write), copied(lines.interactive)];
      const own = { write, interactive, bulk: copied(lines.bulk) };
      copy.#classes.set(name, { ...of, tags: { ...tags }, lines: own });
    }
    for (const refresh of this.#refreshes) copy.#refreshes.add(refresh);
    Object.assign(copy.#latest, this.#latest);
    Object.assign(copy.sizes, this.sizes);
    return copy;
  }

  /** Queues an entry after all others of its caller, with `again` before all others of its class and lane. */
  add(entry: W, again = false): void {
    const { caller, lane } = entry;
    this.sizes[lane] += 1;
    if (lane === 'refresh') {
      this.#refreshes.add(entry);
      return;
    }
    const line = this.#of(caller).lines[lane];
    line.size += 1;
    if (again) line.again.push(entry);
    else line.callers.add(entry, [caller]);
  }

  /** Removes an entry that is not needed any more; false if it does not wait. */
  remove(entry: W): boolean {
    const { caller, lane } = entry;
    if (lane === 'refresh') {
      if (!this.#refreshes.delete(entry)) return false;
    } else {
      const line = this.#of(caller).lines[lane];
      const at = line.again.indexOf(entry);
      if (at >= 0) line.again.splice(at, 1);
      else if (!line.callers.remove(entry)) return false;
      line.size -= 1;
    }
    this.sizes[lane] -= 1;
    return true;
  }

  /** Takes the write or read whose turn is next, of the callers that may go. */
  take(mayGo: MayGo<W>): W | undefined {
    return this.#take('weighted', mayGo) ?? this.#take('without', mayGo);
  }

  /** The same for the lane `bulk`. */
  takeBulk(mayGo: MayGo<W>): W | undefined {
    return this.#take('bulk', mayGo);
  }

  /** The most urgent refreshes first. */
  mostUrgent(): W[] {
    const all = Array.from(this.#refreshes, (refresh) => ({ refresh, urgency: refresh.urgency() }));
    return all.sort((a, b) => b.urgency - a.urgency).map(({ refresh }) => refresh);
  }

  #take(turns: Turns, mayGo: MayGo<W>): W | undefined {
    const tagOf = ({ tags }: ClassLines<W>): number => Math.max(tags[turns], this.#latest[turns]);
    const all = [...this.#classes.values()];
    for (const of of all.sort((one, other) => tagOf(one) - tagOf(other))) {
      if (turns !== 'bulk' && of.weight > 0 !== (turns === 'weighted')) continue;
      const tag = tagOf(of);
      const writesFirst = of.writesInARow < WRITES_IN_A_ROW;
      for (const lane of turns === 'bulk' ? BULK : writesFirst ? WRITE_FIRST : READ_FIRST) {
        const line = of.lines[lane];
        const entry = line.size > 0 ? takeFrom(line, mayGo) : undefined;
        if (!entry) continue;
        this.sizes[lane] -= 1;
        this.#latest[turns] = tag;
        of.tags[turns] = tag + (turns === 'weighted' ? 1 / of.weight : 1);
        const readsWait = lane === 'write' && of.lines.interactive.size > 0;
        if (lane !== 'bulk') of.writesInARow = readsWait ? of.writesInARow + 1 : 0;
        return entry;
      }
    }
    return undefined;
  }

  #of(caller: string): ClassLines<W> {
    const name = classOf(caller);
    const known = this.#classes.get(name);
    if (known) return known;
    const line = (): Line<W> => ({ again: [], callers: new FairQueue({ alike: true }), size: 0 });
    const lines = { write: line(), interactive: line(), bulk: line() };
    const weight = weightOf(this.#rules, name);
    const of = { weight, lines, tags: { weighted: 0, without: 0, bulk: 0 }, writesInARow: 0 };
    this.#classes.set(name, of);
    return of;
  }
}

/** Takes the next entry of a line that may go. */
function takeFrom<W extends Waiting>(line: Line<W>, mayGo: MayGo<W>): W | undefined {
  const at = line.again.findIndex(mayGo);
  const entry = at < 0 ? line.callers.take(mayGo)?.entry : line.again.splice(at, 1)[0];
  if (!entry) return undefined;
  if (at < 0) line.callers.charge(entry.caller, 1);
  line.size -= 1;
  return entry;
}
