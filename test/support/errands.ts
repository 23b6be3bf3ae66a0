import type { CallerClasses } from '../../src/auth/caller-class.ts';
import { inBackground } from '../../src/scheduling/at-once.ts';
import type { Clock } from '../../src/scheduling/clock.ts';
import { newStore } from '../../src/store/open-store.ts';
import { Budget } from '../../src/upstream/budget/budget.ts';
import type { Slot } from '../../src/upstream/budget/key-budget-store.ts';
import type { Lane, ReservedShares } from '../../src/upstream/budget/law/document.ts';
import type { SlotRequest } from '../../src/upstream/budget/queue.ts';
import { type KeySlots, SavedSlots } from '../../src/upstream/budget/saved-slots.ts';
import type { Feedback } from '../../src/upstream/wire/rate-limit-headers.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** An answer without rate-limit headers. */
export const silent: Feedback = { limit: null, remaining: null, resetInMs: null };

/** What a request brings: `again` wants another slot, null was not sent at all. */
export type Brings = (Feedback & { readonly again?: true }) | null;

/** What came of one try to send a request: `again` wants another slot, `unsent` was not needed any more. */
export type Attempted =
  | { readonly kind: 'unsent' }
  | { readonly kind: 'refused' | 'again' | 'done'; readonly feedback: Feedback };

/** A request that is sent when its turn comes. */
export interface Job extends SlotRequest {
  attempt(): Promise<Attempted>;
  /** Its turn has come. */
  dispatched?(): void;
}

/** Queues a request; it is sent when its turn comes, again after a turn in vain. */
export function enqueue(budget: Budget, job: Job): void {
  const send = async (turn: Slot | null): Promise<void> => {
    if (!turn) return;
    job.dispatched?.();
    const attempted = turn.mayLeave() ? await job.attempt() : null;
    if (attempted === null || attempted.kind === 'unsent') turn.release();
    else turn.end(attempted.feedback);
    if (attempted?.kind === 'unsent' || attempted?.kind === 'done') return;
    const again = budget.turn(job, true);
    if (again instanceof Promise) job.accepts(budget.estimateOf(job));
    await send(await again);
  };
  const turn = budget.turn(job);
  inBackground(Promise.resolve(turn).then(send));
}

/** The slots of a key that was never used before, apart from what is given. */
export function keySlots(clock: Clock, windowMs: number, given?: Partial<KeySlots>): KeySlots {
  const slots = new SavedSlots({ store: newStore(clock), clock, keepMs: windowMs });
  return { ...slots.of('a-key', { windowMs, timeoutMs: 10_000 }), ...given };
}

/** A budget of a process that has the key to itself. */
export function createBudget(
  clock: Clock,
  limit: number,
  windowMs: number,
  given?: Partial<KeySlots>,
  reserves?: ReservedShares,
  classes?: CallerClasses,
): Budget {
  const saved = keySlots(clock, windowMs, given);
  return new Budget({ upstream: 'LINKS', clock, limit, windowMs, saved, reserves, classes });
}

/** What a budget makes of what a request brings. */
function attempted(brings: Brings): Attempted {
  if (brings === null) return { kind: 'unsent' };
  const { again, ...feedback } = brings;
  return { kind: feedback.refused ? 'refused' : again ? 'again' : 'done', feedback };
}

/** A request as the upstream sees it; the end is infinite until it is answered. */
export interface Sent {
  readonly errand: Errand;
  readonly start: number;
  end: number;
}

interface ErrandOptions {
  readonly lane?: Lane;
  readonly caller?: string;
  readonly urgency?: number;
  readonly latencyMs?: number;
  /** What the nth request brings; the last one stands for all further ones. */
  readonly answers?: readonly (Brings | (() => Feedback))[];
}

/** A request that does nothing but note when it was sent. */
export class Errand implements Job {
  lane: Lane;
  caller: string;
  readonly resource = 'channels';
  readonly operation = null;
  readonly waitedMs = 0;
  readonly urgency: () => number;
  readonly sent: Sent[] = [];
  /** What the budget said of the wait, each time it did. */
  readonly delays: number[] = [];
  turns = 0;
  readonly #world: { readonly clock: VirtualClock; readonly log: Sent[] };
  readonly #latencyMs: number;
  readonly #answers: readonly (Brings | (() => Feedback))[];

  constructor(world: { clock: VirtualClock; log: Sent[] }, options: ErrandOptions = {}) {
    this.#world = world;
    this.lane = options.lane ?? 'interactive';
    this.caller = options.caller ?? 'a';
    this.urgency = () => options.urgency ?? 0;
    this.#latencyMs = options.latencyMs ?? 0;
    this.#answers = options.answers ?? [silent];
  }

  dispatched(): void {
    this.turns += 1;
  }

  accepts(estimateMs: number): boolean {
    this.delays.push(estimateMs);
    return true;
  }

  async attempt(): Promise<Attempted> {
    const { clock, log } = this.#world;
    const answer = this.#answers[Math.min(this.sent.length, this.#answers.length - 1)];
    if (answer === null || answer === undefined) return { kind: 'unsent' };
    const sent = { errand: this, start: clock.now(), end: Number.POSITIVE_INFINITY };
    log.push(sent);
    this.sent.push(sent);
    await new Promise<void>((resolve) => {
      clock.after(this.#latencyMs, resolve);
    });
    sent.end = clock.now();
    return attempted(typeof answer === 'function' ? answer() : answer);
  }
}

/** The most requests that counted at once when one of them left: each counts until a window after its end. */
export function mostAtOnce(log: readonly Omit<Sent, 'errand'>[], windowMs: number): number {
  let most = 0;
  log.forEach(({ start }, index) => {
    const counting = log.slice(0, index + 1).filter((sent) => sent.end + windowMs > start);
    most = Math.max(most, counting.length);
  });
  return most;
}

/** Queues errands, each of the same kind, and lets things come to rest. */
export async function enqueueAll(
  world: { readonly clock: VirtualClock; readonly budget: Budget },
  errands: readonly Errand[],
): Promise<void> {
  for (const errand of errands) enqueue(world.budget, errand);
  await world.clock.advance(0);
}
