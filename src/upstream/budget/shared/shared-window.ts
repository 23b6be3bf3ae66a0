import type { SharedView } from '../../../redis/shared-ledger.ts';
import type { BudgetWatch, BudgetWindow, SlotRequest, TakenSlot } from '../budget.ts';

/** A request of this process that has left, and when it was answered, on `clock.now()`. */
interface OwnRequest extends Pick<SlotRequest, 'lane' | 'resource'> {
  answeredAt: number | null;
}

/** What this process knows of its own slots: the ledger that replicas share does not know what they were for. */
export class OwnSlots {
  #requests: OwnRequest[] = [];

  /** A request leaves. What is answered tells when: it counts for as long as it is in the window. */
  begin({ lane, resource }: SlotRequest): { ended(now: number): void; unsent(): void } {
    const request: OwnRequest = { lane, resource, answeredAt: null };
    this.#requests.push(request);
    const leave = (): void => {
      this.#requests = this.#requests.filter((each) => each !== request);
    };
    return {
      ended: (now) => {
        leave();
        this.#requests.push({ ...request, answeredAt: now });
      },
      unsent: leave,
    };
  }

  /** Forgets what was answered before a moment. */
  forget(before: number): void {
    this.#requests = this.#requests.filter(({ answeredAt }) => (answeredAt ?? before) >= before);
  }

  /** Those on the wire, or those that are answered, in the order in which that began. */
  of(answered: boolean): OwnRequest[] {
    return this.#requests.filter(({ answeredAt }) => (answeredAt !== null) === answered);
  }
}

/** Who has the slots at `now`, on the clock of the view. */
export function sharedWindow(view: SharedView, own: OwnSlots, now: number): BudgetWindow {
  const since = now - view.heardAt;
  const slots = view.times.map((ms, at) => ({ ms: ms - since, mark: view.who[at] ?? 'r' }));
  const counting = slots.filter(({ ms }) => ms > 0);
  // The latest of ours are those that count: older ones have come back.
  const answered = own.of(true).slice(-counting.filter(({ mark }) => mark === 'm').length);
  const onWire = own.of(false);
  const taken = counting.map(({ mark, ms }): TakenSlot => {
    if (mark === 'c') return { owner: 'co-tenant', resource: null, freeInMs: ms };
    const isOut = mark === 'M' || mark === 'R';
    const request = mark === 'M' ? onWire.shift() : mark === 'm' ? answered.shift() : undefined;
    const freeInMs = isOut ? null : ms;
    if (!request) return { owner: 'replica', resource: null, freeInMs };
    return { owner: request.lane, resource: request.resource, freeInMs };
  });
  const over = Math.max(0, counting.length - view.limit);
  return {
    limit: view.limit,
    taken: [
      ...taken.filter(({ freeInMs }) => freeInMs !== null),
      ...taken.filter(({ freeInMs }) => freeInMs === null),
    ],
    nextInMs: counting[over]?.ms ?? null,
    allInMs: counting.at(-1)?.ms ?? null,
  };
}

/** Tells what has befallen a budget between two views of it. */
export function tellWatch(watch: BudgetWatch, before: SharedView, after: SharedView): void {
  const since = after.heardAt - before.heardAt;
  const came = foreignIn(after, 0) - foreignIn(before, since);
  if (came > 0) watch.foreign(came);
  if (after.pausedMs > 0 && before.pausedMs <= since) watch.paused(after.pausedMs);
}

/** How many slots of others count so many milliseconds after a view. */
function foreignIn({ times, who }: SharedView, ms: number): number {
  return times.filter((time, at) => time > ms && /[rRc]/.test(who[at] ?? '')).length;
}
