import type { CallerClasses } from '../../auth/caller-class.ts';
import type { UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Slot, SlotRequest } from './budget.ts';
import type { BudgetView } from './forecast.ts';
import { callerInClass, classOf } from './law/callers.ts';
import { type ClaimOptions, claimSlots } from './law/claim.ts';
import {
  type KeyBudget,
  newBudget,
  newRules,
  type ReservedShares,
  type Rules,
} from './law/document.ts';
import { cancelSlot, endSlot } from './law/ended.ts';
import { quotaUse } from './law/quotas.ts';
import { addAnswered, coTenants, heldBack, pausedMs, purge } from './law/slots.ts';
import type { Queue } from './queue.ts';
import type { KeySlots, SavedSlot } from './saved-slots.ts';
import { SlotLimiter, type TakenSlots } from './slot-limiter.ts';

interface MemoryStoreOptions {
  readonly clock: Clock;
  /** Requests per window. */
  readonly limit: number;
  readonly windowMs: number;
  /** The reserved shares of the limit; none by default. */
  readonly reserves?: ReservedShares | undefined;
  /** The classes of callers; none by default. */
  readonly classes?: CallerClasses | undefined;
  /** See `Rules`; 2 by default. */
  readonly jobsMinPerMinute?: number | undefined;
  /** The slots of the owners before, and those for the next one. */
  readonly saved: KeySlots;
  readonly upstream: UpstreamName;
  readonly events?: EventStream | undefined;
}

/** The result of a claim. */
interface Claimed {
  readonly taken: readonly { readonly request: SlotRequest; readonly slot: Slot }[];
  /** When to claim again for the others, on `clock.now()`; infinite if only a change requires it. */
  readonly againAt: number;
}

/**
 * Keeps the budget of a key, and grants its slots. Every slot of a request is a job of one limiter, which
 * counts them. Each slot is saved before its request is sent.
 */
export class MemoryStore {
  readonly rules: Rules;
  /** The latest known budget, for values that do not depend on the time: it can contain slots that have ended. */
  readonly budget: KeyBudget;
  readonly #clock: Clock;
  readonly #options: MemoryStoreOptions;
  readonly #limiter: SlotLimiter;
  /** The slots of requests that count, by name; those of the owners before have no row. */
  readonly #slots = new Map<string, { readonly taken: TakenSlots; readonly row?: SavedSlot }>();

  constructor(options: MemoryStoreOptions) {
    const { clock, limit, saved } = options;
    this.#options = options;
    this.#clock = clock;
    this.#limiter = new SlotLimiter(limit);
    this.rules = newRules(options);
    const now = clock.now();
    const b = newBudget(this.rules, now);
    this.budget = b;
    for (const [at, { callerClass, until }] of saved.recalled.entries()) {
      const id = `before ${at}`;
      // Of its caller, only the class is known: this matters where the class has a limit.
      const isLimited = callerClass && quotaUse(b, this.rules, now, callerClass) !== null;
      const caller = isLimited ? { caller: callerInClass('', callerClass) } : {};
      addAnswered(b, { id, until, grantedAt: now, ...caller });
      this.#slots.set(id, { taken: this.#limiter.take() });
    }
    if (saved.unknownUntil > now) b.unknownUntil = saved.unknownUntil;
    b.caution.blind = !saved.isKnown;
    b.caution.coTenantAt = saved.coTenantSeenAt;
    this.#count();
  }

  /** The current budget, for estimates and display only. Purged at each access. */
  get view(): BudgetView {
    const now = this.#purge();
    return { budget: this.budget, rules: this.rules, now };
  }

  /** Claims slots for the waiting requests whose turn it is; `freed` is called when one of the slots is returned. */
  claim(
    queue: Queue<SlotRequest>,
    options: ClaimOptions<SlotRequest>,
    freed: (refused: boolean) => void,
  ): Claimed {
    const { budget: b, rules } = this;
    const now = this.#purge();
    const free = b.limit - this.#limiter.taken - coTenants(b) - heldBack(b);
    const { granted, waitMs } = claimSlots(b, rules, now, queue, { ...options, free });
    this.#count();
    const taken = granted.map(({ id, request }) => ({ request, slot: this.#slotOf(id, freed) }));
    // A fraction of a millisecond would be rounded to 0 and repeated immediately.
    return { taken, againAt: now + Math.max(1, waitMs) };
  }

  /** Applies a step to the current budget, and keeps the result. */
  change<T>(step: (b: KeyBudget, now: number) => T): T {
    const { coTenantAt } = this.budget.caution;
    const result = step(this.budget, this.#purge());
    this.#count();
    if (this.budget.caution.coTenantAt !== coTenantAt) this.#options.saved.coTenantSeen();
    return result;
  }

  #slotOf(id: string, freed: (refused: boolean) => void): Slot {
    const { events, saved, upstream } = this.#options;
    const leaveBy = this.#slots.get(id)?.row?.leaveBy ?? Infinity;
    return {
      id,
      saved: () => saved.saved(),
      // A pause can begin between a turn and the first byte, and the process can be suspended.
      mayLeave: () => {
        const { until } = this.budget.pause;
        const now = this.#clock.now();
        return now <= leaveBy && (until === null || until <= now);
      },
      release: () => {
        this.change((b) => cancelSlot(b, id));
        this.#slots.get(id)?.row?.cancelled();
        this.#frees(id);
        freed(false);
      },
      end: (feedback) => {
        const { foreign, pauses, pauseMs } = this.change((b, now) => {
          const learnt = endSlot(b, this.rules, now, { id, feedback });
          return { ...learnt, pauseMs: learnt.pauses ? pausedMs(b, now) : 0 };
        });
        this.#slots.get(id)?.row?.ended();
        if (foreign > 0) events?.emit('foreign', { upstream, count: foreign });
        if (pauses) events?.emit('paused', { upstream, ms: pauseMs });
        freed(feedback.refused !== undefined);
      },
    };
  }

  /** Removes slots that no longer count, and returns the current time. */
  #purge(): number {
    const now = this.#clock.now();
    for (const { id } of purge(this.budget, now)) this.#frees(id);
    return now;
  }

  /** Takes slots for what was granted, and notes the limit. */
  #count(): void {
    const { held, limit } = this.budget;
    this.#limiter.limit = limit;
    for (const { caller, id, lengthy = false } of held) {
      if (this.#slots.has(id)) continue;
      const callerClass = caller === undefined ? undefined : classOf(caller);
      const row = this.#options.saved.begin(lengthy, callerClass);
      this.#slots.set(id, { taken: this.#limiter.take(), row });
    }
  }

  #frees(id: string): void {
    this.#slots.get(id)?.taken.release();
    this.#slots.delete(id);
  }
}
