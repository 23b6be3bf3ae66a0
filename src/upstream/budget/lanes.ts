import { type BulkHead, type BulkPlace, BulkQueue } from './bulk-queue.ts';
import { CallerQueues } from './caller-queues.ts';
import { type Behind, NONE_BEHIND } from './law/callers/allowances.ts';
import { classOf } from './law/callers/caller-names.ts';
import { ClassTurns } from './law/callers/class-turns.ts';
import type { KeyBudget, Lane, Rules, TurnLane } from './law/document.ts';

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

/** The state of the budget's turns, as last known. */
interface KnownTurns {
  readonly budget: Pick<KeyBudget, 'jobs' | 'turns'>;
}

/** Whether a caller leaves the free slots to others. */
export type IsHeld = (caller: string, lane: TurnLane) => boolean;

/** The queues of a class of callers. */
type ClassQueues<W extends Waiting> = Record<TurnLane, CallerQueues<W>>;

/** The waiting entries, in the order in which the law grants slots. */
export class Lanes<W extends Waiting> {
  readonly #of: KnownTurns;
  readonly #rules: Pick<Rules, 'classes'>;
  /** The queues of the classes that wait. */
  readonly #classes = new Map<string, ClassQueues<W>>();
  readonly #refreshes = new Set<W>();
  #bulk = new BulkQueue<W>();
  /** Number of waiting entries in all lanes. */
  waiting = 0;

  constructor(of: KnownTurns, rules: Pick<Rules, 'classes'> = {}) {
    this.#of = of;
    this.#rules = rules;
  }

  /** Number of waiting entries in a lane. */
  size(lane: Lane): number {
    if (lane === 'refresh') return this.#refreshes.size;
    if (lane === 'bulk') return this.#bulk.size;
    return [...this.#classes.values()].reduce((sum, queues) => sum + queues[lane].size, 0);
  }

  /** Number of waiting entries of a class in a lane. */
  sizeOf(name: string, lane: TurnLane): number {
    return this.#classes.get(name)?.[lane].size ?? 0;
  }

  /** Whether a caller waits in a lane. */
  hasCaller(lane: TurnLane, caller: string): boolean {
    return this.#classes.get(classOf(caller))?.[lane].hasCaller(caller) ?? false;
  }

  /** Of each class, the request of each lane whose turn is next, of the callers that are not held. */
  heads(isHeld: IsHeld): Map<string, Partial<Record<TurnLane, W>>> {
    const state = this.#of.budget.turns;
    const heads = new Map<string, Partial<Record<TurnLane, W>>>();
    for (const [name, { interactive, write }] of this.#classes) {
      const [first, read] = [
        write.head(state, (caller) => isHeld(caller, 'write')),
        interactive.head(state, (caller) => isHeld(caller, 'interactive')),
      ];
      heads.set(name, { ...(first && { write: first }), ...(read && { interactive: read }) });
    }
    return heads;
  }

  /**
   * The lane whose turn is next, with a write of any class before reads; undefined when nothing waits. One of the lane
   * `bulk` can be sent while refreshes wait for their pace.
   */
  get next(): Lane | undefined {
    let next: Lane | undefined = this.#refreshes.size > 0 ? 'refresh' : undefined;
    if (this.#bulk.size > 0) next = 'bulk';
    const turns = this.#turns;
    for (const [name, queues] of this.#classes) {
      const lane = turns.laneOf(name, sizesOf(queues));
      // It is sent if a read would be sent, and sometimes sooner.
      if (lane === 'write') return lane;
      next = lane ?? next;
    }
    return next;
  }

  /** A copy of the lanes with the same entries, for a simulation on a copy of the turns. */
  copy(budget: KeyBudget): Lanes<W> {
    const copy = new Lanes<W>({ budget }, this.#rules);
    for (const [name, { interactive, write }] of this.#classes) {
      copy.#classes.set(name, { write: write.copy(), interactive: interactive.copy() });
    }
    for (const refresh of this.#refreshes) copy.#refreshes.add(refresh);
    copy.#bulk = this.#bulk.copy();
    copy.waiting = this.waiting;
    return copy;
  }

  /** Queues an entry, with `again` before all others of its class and lane. */
  add(waiting: W, again = false): void {
    const { caller, lane } = waiting;
    this.waiting += 1;
    if (lane === 'refresh') {
      this.#refreshes.add(waiting);
      return;
    }
    if (lane === 'bulk') {
      if (again) this.#bulk.again(waiting, caller);
      else this.#bulk.add(waiting, caller);
      return;
    }
    const queues = this.#queuesOf(classOf(caller))[lane];
    if (again) queues.again(waiting);
    else queues.add(waiting, caller, this.#of.budget.turns.seq);
  }

  /** Removes an entry, because it has its turn or is not needed any more; false if it does not wait here. */
  remove(waiting: W, hasTurn = false): boolean {
    const isOut = this.#remove(waiting, hasTurn);
    if (isOut) this.waiting -= 1;
    return isOut;
  }

  #remove(waiting: W, hasTurn: boolean): boolean {
    const { caller, lane } = waiting;
    if (lane === 'refresh') return this.#refreshes.delete(waiting);
    if (lane === 'bulk') return this.#bulk.remove(waiting, caller, hasTurn);
    const queues = this.#classes.get(classOf(caller));
    if (!queues?.[lane].remove(waiting, caller)) return false;
    if (queues.write.size + queues.interactive.size === 0) this.#classes.delete(classOf(caller));
    return true;
  }

  /** Whether the last turn of a waiting write or read had no result. */
  isAgain(waiting: W): boolean {
    const { caller, lane } = waiting;
    if (lane === 'refresh' || lane === 'bulk') return false;
    return this.#classes.get(classOf(caller))?.[lane].isAgain(waiting) ?? false;
  }

  /** Number of waiting requests of each class in the lane `bulk`. */
  get bulkSizes(): ReadonlyMap<string, number> {
    return this.#bulk.sizes;
  }

  /** Of each class, the request in the lane `bulk` whose turn is next. */
  get bulkHeads(): BulkHead<W>[] {
    return this.#bulk.heads(this.#of.budget);
  }

  /** The waiting requests of the lane `bulk`, in the order of their turns. */
  bulk(): Generator<W> {
    return this.#bulk.inOrder(this.#of.budget);
  }

  /** The place of a waiting request in the lane `bulk`, or of a new one of a caller. */
  bulkPlace(
    of: { readonly caller: string; readonly waiting?: W | undefined },
    behind: ReadonlySet<string>,
  ): BulkPlace | undefined {
    return this.#bulk.place(this.#of.budget, of, behind);
  }

  /** The most urgent refreshes, at most this many. */
  mostUrgent(count: number): { readonly refresh: W; readonly urgency: number }[] {
    const all = [...this.#refreshes].map((refresh) => ({ refresh, urgency: refresh.urgency() }));
    return all.sort((a, b) => b.urgency - a.urgency).slice(0, count);
  }

  /** The waiting writes and reads, in the order in which they are sent if no others arrive. */
  *inOrder(): Generator<W> {
    const turns = this.#turns;
    const left = new Map(
      [...this.#classes].map(([name, { interactive, write }]) => {
        const state = this.#of.budget.turns;
        const orders = { write: write.inOrder(state), interactive: interactive.inOrder(state) };
        return [name, { orders, sizes: sizesOf({ write, interactive }) }];
      }),
    );
    for (let name = turns.next(left.keys()); name !== undefined; name = turns.next(left.keys())) {
      const own = left.get(name);
      const lane = own && turns.laneOf(name, own.sizes);
      const next = lane && own.orders[lane].next();
      if (!next || next.done) {
        left.delete(name);
        continue;
      }
      turns.serve(name, lane, own.sizes.interactive > 0);
      own.sizes[lane] -= 1;
      yield next.value;
    }
  }

  /**
   * Number of entries before a waiting one; undefined if it does not wait, or is a refresh or in the lane `bulk`.
   * `behind` are those that it is before in any case.
   */
  position(waiting: W, behind = NONE_BEHIND): number | undefined {
    const { caller, lane } = waiting;
    if (lane === 'refresh' || lane === 'bulk') return undefined;
    const inClass = this.#inClass(lane, caller, behind, waiting);
    return inClass === undefined ? undefined : this.before(classOf(caller), inClass, behind);
  }

  /** The same for a new entry of a caller in a lane. */
  ahead(lane: TurnLane, caller: string, behind = NONE_BEHIND): number {
    const inClass = this.#inClass(lane, caller, behind) ?? 0;
    return this.before(classOf(caller), inClass, behind);
  }

  /** Number of entries of a caller's class before a waiting one, or before a new one of the caller. */
  aheadInClass(lane: TurnLane, caller: string, waiting?: W): number {
    return this.#inClass(lane, caller, NONE_BEHIND, waiting) ?? 0;
  }

  /** Number of entries before one with this many others of its class before it. */
  before(name: string, inClass: number, behind: Behind): number {
    const others = [...this.#classes].filter(
      ([each]) => each !== name && !behind.classes.has(each),
    );
    if (others.length === 0) return inClass;
    const turns = this.#turns;
    const pass = turns.passOf(name, inClass);
    let before = inClass;
    for (const [each, queues] of others) {
      const { interactive, write } = sizesOf(queues, behind);
      before += turns.before(each, write + interactive, { name, pass });
    }
    return before;
  }

  /** Number of entries of its class before one, see `position`; undefined if it does not wait. */
  #inClass(lane: TurnLane, caller: string, behind: Behind, waiting?: W): number | undefined {
    const name = classOf(caller);
    const queues = this.#classes.get(name);
    if (!queues) return waiting === undefined ? 0 : undefined;
    const state = this.#of.budget.turns;
    const inLane =
      waiting === undefined
        ? queues[lane].ahead(state, caller, behind.callers)
        : queues[lane].position(state, waiting, caller, behind.callers);
    if (inLane === undefined) return undefined;
    return this.#turns.acrossLanes(name, lane, inLane, sizesOf(queues, behind));
  }

  get #turns(): ClassTurns {
    return new ClassTurns(this.#of.budget.turns, this.#rules);
  }

  #queuesOf(name: string): ClassQueues<W> {
    const known = this.#classes.get(name);
    if (known) return known;
    const queues = {
      write: new CallerQueues<W>('write'),
      interactive: new CallerQueues<W>('interactive'),
    };
    this.#classes.set(name, queues);
    return queues;
  }
}

/** Numbers of waiting entries, without those of callers behind all others. */
function sizesOf<W extends Waiting>(
  { interactive, write }: ClassQueues<W>,
  { callers }: Behind = NONE_BEHIND,
): Record<TurnLane, number> {
  return { write: write.sizeWithout(callers), interactive: interactive.sizeWithout(callers) };
}
