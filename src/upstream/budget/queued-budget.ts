import type { Clock } from '../../clock.ts';
import type { Budget, BudgetState, BudgetWindow, Job, QueuedRequest } from './budget.ts';
import { type Lane, Lanes } from './lanes.ts';
import { QueueForecast } from './queue-forecast.ts';

/**
 * What all budgets have in common: the requests that wait in this process, in their order, and who of them is
 * turned away when it is about to end. Who goes, and when, is up to the budget.
 */
export abstract class QueuedBudget implements Budget {
  protected readonly clock: Clock;
  protected readonly lanes = new Lanes<Job>();
  /** When the process will end; `null` while it is not about to. */
  #drainedAt: number | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  abstract readonly answersInMs: number;
  abstract readonly state: BudgetState;
  abstract readonly pausedMs: number;
  abstract readonly idle: boolean;
  abstract readonly refreshesPerWindow: number;
  abstract readonly windowMs: number;
  abstract readonly window: BudgetWindow;
  abstract rush(job: Job): void;

  /** Sends whatever may be sent now, and sees to being called again when more may. */
  protected abstract pump(): void;
  /** How long an answer usually takes, in milliseconds. */
  protected abstract readonly latencyMs: number;
  /** Milliseconds until what has so many before it is sent. */
  protected abstract estimateAt(position: number): number;

  enqueue(job: Job): void {
    this.lanes.add(job);
    this.pump();
  }

  cancel(job: Job): boolean {
    return this.lanes.remove(job);
  }

  hasten(job: Job, caller: string): void {
    if (job.lane !== 'refresh') {
      if (job.caller === caller) return;
      const position = this.lanes.position(job);
      if (position === undefined || position <= this.lanes.ahead('interactive', caller)) return;
    }
    const waits = this.lanes.remove(job);
    job.lane = 'interactive';
    job.caller = caller;
    if (waits) this.enqueue(job);
  }

  estimate(lane: 'write' | 'interactive', caller: string): number {
    return this.estimateAt(this.lanes.ahead(lane, caller));
  }

  estimateOf(job: Job): number {
    const position = this.lanes.position(job);
    return position === undefined ? 0 : this.estimateAt(position);
  }

  forecast(): QueueForecast {
    return new QueueForecast(this.lanes.copy(), {
      limit: this.state.limit,
      windowMs: this.windowMs,
      latencyMs: this.latencyMs,
      opensInMs: (position) => this.estimateAt(position),
    });
  }

  waiting(most: number): QueuedRequest[] {
    const waiting: QueuedRequest[] = [];
    for (const job of this.lanes.inOrder()) {
      if (waiting.length >= most) return waiting;
      waiting.push(queued(job, this.estimateAt(waiting.length)));
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

  turnsAway(job: Job, estimateMs: number): boolean {
    if (this.#drainedAt === null) return false;
    return job.lane !== 'write' || this.clock.now() + estimateMs > this.#drainedAt;
  }

  /** Whether the process is about to end. */
  protected get drains(): boolean {
    return this.#drainedAt !== null;
  }

  /** Puts back, before all others of its lane, what had its turn in vain. */
  protected putBack(job: Job): void {
    this.lanes.addFirst(job);
    job.delayed(this.estimateOf(job));
  }

  /** Lets those who wait reckon with a pause, instead of finding out when their patience is over. */
  protected tellDelay(): void {
    let position = 0;
    // Whoever does not want to wait so long leaves the lanes meanwhile.
    for (const job of Array.from(this.lanes.inOrder())) {
      if (job.delayed(this.estimateAt(position))) position += 1;
    }
  }
}

function queued(job: Job, leavesInMs: number | null): QueuedRequest {
  const { caller, lane, operation, resource, waitedMs } = job;
  return { lane, caller, resource, operation, waitedMs, leavesInMs };
}
