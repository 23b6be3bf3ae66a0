import type { CallerClasses } from '../../auth/caller-class.ts';
import type { UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Slot, SlotRequest } from './budget.ts';
import type { Lanes } from './lanes.ts';
import { type BudgetView, pausedMs } from './law/availability.ts';
import { type ClaimOptions, claimSlots } from './law/claim.ts';
import {
  type KeyBudget,
  newBudget,
  newRules,
  type ReservedShares,
  type Rules,
} from './law/document.ts';
import { cancelSlot, endSlot } from './law/ended.ts';
import { addAnswered, heldBack, purge } from './law/slots.ts';
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

/** A slot of a request of this process. */
interface OwnSlot {
  readonly taken: TakenSlots;
  readonly row: SavedSlot;
}

/**
 * Keeps the budget of a key, and grants its slots. Every slot that counts is a job of one limiter, which
 * determines the number of free slots. Each slot is saved before its request is sent.
 */
export class MemoryStore {
  readonly rules: Rules;
  /** The latest known budget, for values that do not depend on the time: it can contain slots that have ended. */
  readonly budget: KeyBudget;
  readonly #clock: Clock;
  readonly #options: MemoryStoreOptions;
  readonly #limiter: SlotLimiter;
  /** The current limit of `#limiter`. */
  #limit: number;
  readonly #held = new Map<string, OwnSlot>();
  readonly #answered = new Map<string, TakenSlots>();
  readonly #coTenants = new Map<object, TakenSlots>();
  /** Slots that are taken for unknown requests. */
  #heldBack: { readonly count: number; readonly taken: TakenSlots } | null = null;

  constructor(options: MemoryStoreOptions) {
    const { clock, limit, saved } = options;
    this.#options = options;
    this.#clock = clock;
    this.#limiter = new SlotLimiter(limit);
    this.#limit = limit;
    this.rules = newRules(options);
    const now = clock.now();
    const b = newBudget(this.rules, now);
    this.budget = b;
    for (const [at, until] of saved.recalled.entries()) {
      const id = `before ${at}`;
      addAnswered(b, { id, until, grantedAt: now });
      this.#answered.set(id, this.#limiter.take());
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
    lanes: Lanes<SlotRequest>,
    options: ClaimOptions<SlotRequest>,
    freed: (refused: boolean) => void,
  ): Claimed {
    const { budget: b, rules } = this;
    const now = this.#purge();
    const free = b.limit - this.#limiter.taken;
    const { granted, waitMs } = claimSlots(b, rules, now, lanes, { ...options, free });
    this.#count();
    const taken = granted.map(({ id, request }) => ({ request, slot: this.#slotOf(id, freed) }));
    // A fraction of a millisecond would be rounded to 0 and repeated immediately.
    return { taken, againAt: now + Math.max(1, waitMs ?? Infinity) };
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
    const leaveBy = this.#held.get(id)?.row.leaveBy ?? Infinity;
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
        freed(false);
      },
      end: (feedback) => {
        const { foreign, pauses, pauseMs } = this.change((b, now) => {
          const learnt = endSlot(b, this.rules, now, { id, feedback });
          return { ...learnt, pauseMs: learnt.pauses ? pausedMs(b, now) : 0 };
        });
        if (foreign > 0) events?.emit('foreign', { upstream, count: foreign });
        if (pauses) events?.emit('paused', { upstream, ms: pauseMs });
        freed(feedback.refused !== undefined);
      },
    };
  }

  /** Removes slots that no longer count, and returns the current time. */
  #purge(): number {
    const now = this.#clock.now();
    const dropped = purge(this.budget, now);
    for (const { id } of dropped.answered) release(this.#answered, id);
    for (const block of dropped.coTenants) release(this.#coTenants, block);
    this.#countHeldBack();
    return now;
  }

  /** Takes and frees slots according to the document, and records which of them belong to requests. */
  #count(): void {
    const { answered, coTenants, held, limit } = this.budget;
    if (limit !== this.#limit) {
      this.#limit = limit;
      this.#limiter.limit = limit;
    }
    for (const { id, lengthy = false } of held) {
      if (this.#held.has(id)) continue;
      this.#held.set(id, { taken: this.#limiter.take(), row: this.#options.saved.begin(lengthy) });
    }
    if (this.#held.size > held.length) {
      const out = new Set(held.map(({ id }) => id));
      for (const [id, slot] of this.#held) if (!out.has(id)) this.#ends(id, slot, answered);
    }
    for (const block of coTenants) {
      if (!this.#coTenants.has(block)) this.#coTenants.set(block, this.#limiter.take(block.count));
    }
    this.#countHeldBack();
  }

  #ends(id: string, { row, taken }: OwnSlot, answered: KeyBudget['answered']): void {
    this.#held.delete(id);
    if (answered.findLast((slot) => slot.id === id)) {
      row.ended();
      this.#answered.set(id, taken);
    } else {
      row.cancelled();
      taken.release();
    }
  }

  #countHeldBack(): void {
    const { budget } = this;
    const count = budget.unknownUntil === null ? 0 : heldBack(budget);
    if (count === (this.#heldBack?.count ?? 0)) return;
    this.#heldBack?.taken.release();
    this.#heldBack = count > 0 ? { count, taken: this.#limiter.take(count) } : null;
  }
}

function release<K>(slots: Map<K, TakenSlots>, key: K): void {
  slots.get(key)?.release();
  slots.delete(key);
}
