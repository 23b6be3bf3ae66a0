import { type CallerClasses, classRules } from '../../auth/caller-class.ts';
import { FairQueue } from '../../scheduling/fair-queue.ts';
import { classOf } from './law/callers.ts';
import type { Lane, TurnLane } from './law/document.ts';

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

/** Whether a caller may take a slot in a lane now. */
type MayTake = (caller: string, lane: Lane) => boolean;

/** Number of writes in a row of a class that go before its next waiting read. */
const WRITES_IN_A_ROW = 3;
/** The tags of classes without weight begin here, after all others. */
const WITHOUT_WEIGHT = 1e15;

/** One lane of a class: its callers take turns. Entries whose turn had no result go before all others. */
class Line<W extends Waiting> {
  readonly #again: W[];
  readonly #callers: FairQueue<W>;

  constructor(again: W[] = [], callers = new FairQueue<W>({ alike: true })) {
    this.#again = again;
    this.#callers = callers;
  }

  get size(): number {
    return this.#again.length + this.#callers.size;
  }

  *[Symbol.iterator](): Generator<W> {
    yield* this.#again;
    yield* this.#callers;
  }

  copy(): Line<W> {
    return new Line([...this.#again], this.#callers.copy());
  }

  /** The entry whose turn is next, of the callers that may take a slot. */
  head(mayTake: MayTake): W | undefined {
    if (this.size === 0) return undefined;
    const may = ({ caller, lane }: W): boolean => mayTake(caller, lane);
    return this.#again.find(may) ?? this.#callers.peek((entry) => may(entry));
  }

  add(entry: W, again: boolean): void {
    if (again) this.#again.push(entry);
    else this.#callers.add(entry, [entry.caller]);
  }

  /** Removes an entry; false if it does not wait here. */
  remove(entry: W): boolean {
    const { size } = this;
    const at = this.#again.indexOf(entry);
    if (at >= 0) this.#again.splice(at, 1);
    else this.#callers.remove(entry);
    return this.size < size;
  }

  /** An entry has its turn. */
  serve(entry: W): void {
    if (this.#again.includes(entry)) this.remove(entry);
    else if (this.#callers.takeOut(entry)) this.#callers.charge(entry.caller, 1);
  }
}

/** The lanes of a class of callers. */
interface ClassLines<W extends Waiting> {
  readonly lines: Readonly<Record<TurnLane | 'bulk', Line<W>>>;
  /** Start tags of its next slot, in the turns of reads and writes, and in those of the lane `bulk`. */
  tag: number;
  bulkTag: number;
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
  readonly #rules: { readonly classes?: CallerClasses };
  readonly #classes = new Map<string, ClassLines<W>>();
  readonly #refreshes = new Set<W>();
  /** The tags of the latest slots of classes with weight, of classes without, and of the lane `bulk`. */
  readonly #latest = { weighted: 0, without: 0, bulk: 0 };

  constructor(rules: { readonly classes?: CallerClasses } = {}) {
    this.#rules = rules;
  }

  /** Number of waiting entries in a lane. */
  size(lane: Lane): number {
    if (lane === 'refresh') return this.#refreshes.size;
    let size = 0;
    for (const { lines } of this.#classes.values()) size += lines[lane].size;
    return size;
  }

  /** Number of waiting entries in all lanes. */
  get waiting(): number {
    return this.size('write') + this.size('interactive') + this.size('bulk') + this.#refreshes.size;
  }

  /** The entries of some lanes, in no order. */
  *in(...lanes: readonly Lane[]): Generator<W> {
    for (const lane of lanes) {
      if (lane === 'refresh') yield* this.#refreshes;
      else for (const { lines } of this.#classes.values()) yield* lines[lane];
    }
  }

  /** A copy for a simulation, during which this queue must not change. */
  copy(): Queue<W> {
    const copy = new Queue<W>(this.#rules);
    for (const [name, { lines, ...of }] of this.#classes) {
      const [write, interactive] = [lines.write.copy(), lines.interactive.copy()];
      copy.#classes.set(name, { ...of, lines: { write, interactive, bulk: lines.bulk.copy() } });
    }
    for (const refresh of this.#refreshes) copy.#refreshes.add(refresh);
    Object.assign(copy.#latest, this.#latest);
    return copy;
  }

  /** Queues an entry after all others of its caller, with `again` before all others of its class and lane. */
  add(entry: W, again = false): void {
    const { caller, lane } = entry;
    if (lane === 'refresh') this.#refreshes.add(entry);
    else this.#of(caller).lines[lane].add(entry, again);
  }

  /** Removes an entry that is not needed any more; false if it does not wait. */
  remove(entry: W): boolean {
    const { caller, lane } = entry;
    if (lane === 'refresh') return this.#refreshes.delete(entry);
    return this.#of(caller).lines[lane].remove(entry);
  }

  /** The write or read whose turn is next, of the callers that may take a slot; with `onlyWrites`, the write. */
  next(mayTake: MayTake, onlyWrites = false): W | undefined {
    let next: W | undefined;
    let least = Infinity;
    for (const [name, of] of this.#classes) {
      const { weight } = classRules(this.#rules.classes, name);
      const tag = this.#tagOf(name, of) + (weight > 0 ? 0 : WITHOUT_WEIGHT);
      if (tag >= least) continue;
      const head = onlyWrites ? of.lines.write.head(mayTake) : headOf(of, mayTake);
      if (head) [next, least] = [head, tag];
    }
    return next;
  }

  /** The same for the lane `bulk`. */
  nextBulk(mayTake: MayTake): W | undefined {
    let next: W | undefined;
    let least = Infinity;
    for (const { bulkTag, lines } of this.#classes.values()) {
      const tag = Math.max(this.#latest.bulk, bulkTag);
      const head = tag < least ? lines.bulk.head(mayTake) : undefined;
      if (head) [next, least] = [head, tag];
    }
    return next;
  }

  /** The most urgent refreshes first. */
  mostUrgent(): W[] {
    const all = Array.from(this.#refreshes, (refresh) => ({ refresh, urgency: refresh.urgency() }));
    return all.sort((a, b) => b.urgency - a.urgency).map(({ refresh }) => refresh);
  }

  /** An entry has its turn. */
  serve(entry: W): void {
    const { caller, lane } = entry;
    if (lane === 'refresh') {
      this.#refreshes.delete(entry);
      return;
    }
    const name = classOf(caller);
    const of = this.#of(caller);
    const { weight } = classRules(this.#rules.classes, name);
    if (lane === 'bulk') {
      this.#latest.bulk = Math.max(this.#latest.bulk, of.bulkTag);
      of.bulkTag = this.#latest.bulk + 1;
    } else {
      const tag = this.#tagOf(name, of);
      this.#latest[weight > 0 ? 'weighted' : 'without'] = tag;
      of.tag = tag + 1 / (weight || 1);
      const readsWait = of.lines.interactive.size > 0;
      of.writesInARow = lane === 'write' && readsWait ? of.writesInARow + 1 : 0;
    }
    of.lines[lane].serve(entry);
  }

  #tagOf(name: string, { tag }: ClassLines<W>): number {
    const { weight } = classRules(this.#rules.classes, name);
    return Math.max(tag, weight > 0 ? this.#latest.weighted : this.#latest.without);
  }

  #of(caller: string): ClassLines<W> {
    const name = classOf(caller);
    const known = this.#classes.get(name);
    if (known) return known;
    const lines = { write: new Line<W>(), interactive: new Line<W>(), bulk: new Line<W>() };
    const of = { lines, tag: 0, bulkTag: 0, writesInARow: 0 };
    this.#classes.set(name, of);
    return of;
  }
}

/** The entry whose turn is next in a class: a write, or after some of them in a row a read. */
function headOf<W extends Waiting>(
  { lines, writesInARow }: ClassLines<W>,
  mayTake: MayTake,
): W | undefined {
  const read = (): W | undefined => lines.interactive.head(mayTake);
  const write = (): W | undefined => lines.write.head(mayTake);
  return writesInARow < WRITES_IN_A_ROW ? (write() ?? read()) : (read() ?? write());
}
