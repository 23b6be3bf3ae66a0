import type { AtOnce } from '../../at-once.ts';
import type { Clock } from '../../clock.ts';
import type {
  Budget,
  BudgetState,
  BudgetWindow,
  QueuedRequest,
  SlotRequest,
  Turn,
} from './budget.ts';
import { type Lane, Lanes } from './lanes.ts';
import { QueueForecast } from './queue-forecast.ts';

/**
 * What all budgets have in common: the requests that wait in this process, in their order, and who of them is
 * turned away when it is about to end. Who goes, and when, is up to the budget.
 */
export abstract class QueuedBudget implements Budget {
  protected readonly clock: Clock;
  protected readonly lanes = new Lanes<SlotRequest>();
  /** How those who wait get their turns. */
  readonly #turns = new Map<SlotRequest, (turn: Turn) => void>();
  /** When the process will end; `null` while it is not about to. */
  #drainedAt: number | null = null;
  /** Whether slots have been given back in this turn. */
  #pumpsSoon = false;
  /** Whether a refusal was among them. */
  #tellsSoon = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  abstract readonly answersInMs: number;
  abstract readonly limit: number;
  abstract readonly state: BudgetState;
  abstract readonly pausedMs: number;
  abstract readonly idle: boolean;
  abstract readonly refreshesPerWindow: number;
  abstract readonly windowMs: number;
  abstract readonly window: BudgetWindow;
  abstract sendNow(request: SlotRequest): void;

  /** Grants a turn to all who may have theirs now, and sees to being called again when more may. */
  protected abstract pump(): void;
  /** How long an answer usually takes, in milliseconds. */
  protected abstract readonly latencyMs: number;
  /** Milliseconds until what has so many before it is sent. */
  protected abstract estimateAt(position: number): number;

  turn(request: SlotRequest, again = false): AtOnce<Turn> {
    let granted: Turn | undefined;
    let grant = (turn: Turn): void => {
      granted = turn;
    };
    this.#turns.set(request, (turn) => grant(turn));
    if (again) this.lanes.addFirst(request);
    else this.lanes.add(request);
    this.pump();
    return (
      granted ??
      new Promise<Turn>((resolve) => {
        grant = resolve;
      })
    );
  }

  cancel(request: SlotRequest): boolean {
    if (!this.lanes.remove(request)) return false;
    this.grant(request, { kind: 'cancelled' });
    return true;
  }

  promote(request: SlotRequest, caller: string): void {
    if (request.lane !== 'refresh') {
      if (request.caller === caller) return;
      const position = this.lanes.position(request);
      if (position === undefined || position <= this.lanes.ahead('interactive', caller)) return;
    }
    const waits = this.lanes.remove(request);
    request.lane = 'interactive';
    request.caller = caller;
    if (!waits) return;
    this.lanes.add(request);
    this.pump();
  }

  estimate(lane: 'write' | 'interactive', caller: string): number {
    return this.estimateAt(this.lanes.ahead(lane, caller));
  }

  estimateOf(request: SlotRequest): number {
    const position = this.lanes.position(request);
    return position === undefined ? 0 : this.estimateAt(position);
  }

  forecast(): QueueForecast {
    return new QueueForecast(this.lanes.copy(), {
      limit: this.limit,
      windowMs: this.windowMs,
      latencyMs: this.latencyMs,
      opensInMs: (position) => this.estimateAt(position),
    });
  }

  waiting(most: number): QueuedRequest[] {
    const waiting: QueuedRequest[] = [];
    for (const each of this.lanes.inOrder()) {
      if (waiting.length >= most) return waiting;
      waiting.push(queued(each, this.estimateAt(waiting.length)));
    }
    const refreshes = this.lanes.mostUrgent(most - waiting.length);
    for (const { refresh } of refreshes) waiting.push(queued(refresh, null));
    return waiting;
  }

  queuedIn(lane: Lane): number {
    return this.lanes.size(lane);
  }

  drain(graceMs: number): void {
    if (this.#drainedAt !== null) return;
    this.#drainedAt = this.clock.now() + graceMs;
    this.tellDelay();
    // Writes whose turn was to come in time, and did not.
    this.clock.after(graceMs, () => this.tellDelay());
  }

  turnsAway(request: SlotRequest, estimateMs: number): boolean {
    if (this.#drainedAt === null) return false;
    return request.lane !== 'write' || this.clock.now() + estimateMs > this.#drainedAt;
  }

  /** Whether the process is about to end. */
  protected get drains(): boolean {
    return this.#drainedAt !== null;
  }

  /** Tells a request, which waits in no lane any more, what has become of its turn. */
  protected grant(request: SlotRequest, turn: Turn): void {
    const grant = this.#turns.get(request);
    this.#turns.delete(request);
    grant?.(turn);
  }

  /**
   * Pumps once whoever has given a slot back has asked for another turn, which is to be the next. After a refusal those
   * who wait learn of the pause first.
   */
  protected pumpSoon(refused: boolean): void {
    this.#tellsSoon ||= refused;
    if (this.#pumpsSoon) return;
    this.#pumpsSoon = true;
    queueMicrotask(() => {
      const tells = this.#tellsSoon;
      this.#pumpsSoon = false;
      this.#tellsSoon = false;
      if (tells) this.tellDelay();
      this.pump();
    });
  }

  /** Lets those who wait reckon with a pause, instead of finding out when their patience is over. */
  protected tellDelay(): void {
    let position = 0;
    // Whoever does not want to wait so long leaves the lanes meanwhile.
    for (const each of Array.from(this.lanes.inOrder())) {
      if (each.accepts(this.estimateAt(position))) position += 1;
    }
  }
}

function queued(request: SlotRequest, leavesInMs: number | null): QueuedRequest {
  const { caller, lane, operation, resource, waitedMs } = request;
  return { lane, caller, resource, operation, waitedMs, leavesInMs };
}
