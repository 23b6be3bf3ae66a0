import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import { type JournalEntry, type KeyJournal, newKey } from './journal/journal.ts';
import type { BudgetView } from './law/availability.ts';
import { type KeyBudget, newBudget, type Rules } from './law/document.ts';
import { addAnswered, heldBack, PROCESS_BEFORE, purge } from './law/slots.ts';
import { SlotLimiter, type TakenSlots } from './slot-limiter.ts';

/**
 * A change of a budget: may change the draft in place, and answers something. `free` slots are free at first; negative
 * where more count than the limit. It may be run again on a newer draft, so it has no other effect.
 */
export type BudgetStep<T> = (draft: KeyBudget, now: number, free: number) => T;

/** Where the budget of one key is kept. */
export interface BudgetStore {
  readonly rules: Rules;
  /** Takes a step on the budget as it stands, and keeps what it makes of it. */
  change<T>(step: BudgetStep<T>): AtOnce<T>;
  /** The budget as last known, for estimates and for people: nothing is sent on its word. Not to be changed. */
  look(): BudgetSight;
}

/** A budget at a moment of its own clock. */
type BudgetSight = Pick<BudgetView, 'budget' | 'now' | 'rules'>;

/** A slot of a request of this process. */
interface OwnSlot {
  readonly taken: TakenSlots;
  readonly entry: JournalEntry;
}

/**
 * Keeps the budget of a key that this process has to itself. Every slot that counts is a job of one limiter, which is
 * the count that decides what is free; and each is written into the journal before its request leaves.
 */
export class MemoryStore implements BudgetStore {
  readonly rules: Rules;
  readonly #clock: Clock;
  readonly #journal: KeyJournal;
  readonly #limiter: SlotLimiter;
  readonly #budget: KeyBudget;
  readonly #held = new Map<string, OwnSlot>();
  readonly #answered = new Map<string, TakenSlots>();
  readonly #coTenants = new Map<object, TakenSlots>();
  /** Slots that are taken for what is not known. */
  #heldBack: { readonly count: number; readonly taken: TakenSlots } | null = null;

  constructor(options: {
    readonly clock: Clock;
    /** Requests per window. */
    readonly limit: number;
    readonly windowMs: number;
    /** What is known of the process before, and what the next one will know. */
    readonly journal?: KeyJournal;
  }) {
    const { clock, journal = newKey, limit, windowMs } = options;
    this.#clock = clock;
    this.#journal = journal;
    this.#limiter = new SlotLimiter(limit);
    this.rules = { limit, windowMs, marginMs: 0, holdMs: null, ghostMs: null };
    const now = clock.now();
    const b = newBudget(this.rules, now);
    this.#budget = b;
    for (const [at, until] of journal.recalled.entries()) {
      const id = `${PROCESS_BEFORE} ${at}`;
      addAnswered(b, { id, owner: PROCESS_BEFORE, until, grantedAt: now, endedAt: now });
      this.#answered.set(id, this.#limiter.take());
    }
    if (journal.unknownUntil > now) b.unknownUntil = journal.unknownUntil;
    b.caution.blind = !journal.isKnown;
    b.caution.coTenantAt = journal.coTenantSeenAt;
    this.#count();
  }

  /** The budget, in which slots may still be that are over. Not to be changed. */
  get document(): KeyBudget {
    return this.#budget;
  }

  look(): BudgetSight {
    const now = this.#clock.now();
    this.#purge(now);
    return { budget: this.#budget, now, rules: this.rules };
  }

  change<T>(step: BudgetStep<T>): T {
    const now = this.#clock.now();
    this.#purge(now);
    const { limit, taken } = this.#limiter;
    const { coTenantAt } = this.#budget.caution;
    const result = step(this.#budget, now, limit - taken);
    this.#count();
    if (this.#budget.caution.coTenantAt !== coTenantAt) this.#journal.coTenantSeen();
    return result;
  }

  #purge(now: number): void {
    const dropped = purge(this.#budget, this.rules, now);
    for (const { id } of dropped.answered) release(this.#answered, id);
    for (const block of dropped.coTenants) release(this.#coTenants, block);
    if (this.#heldBack) this.#countHeldBack();
  }

  /** Takes and frees slots as the document says, and writes down which of them are of requests. */
  #count(): void {
    const { answered, coTenants, held, limit } = this.#budget;
    this.#limiter.limit = limit;
    for (const { id, lengthy = false } of held) {
      if (this.#held.has(id)) continue;
      this.#held.set(id, { taken: this.#limiter.take(), entry: this.#journal.begin(lengthy) });
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

  #ends(id: string, { entry, taken }: OwnSlot, answered: KeyBudget['answered']): void {
    this.#held.delete(id);
    if (answered.findLast((slot) => slot.id === id)) {
      entry.ended();
      this.#answered.set(id, taken);
    } else {
      entry.cancelled();
      taken.release();
    }
  }

  #countHeldBack(): void {
    const count = heldBack(this.#budget);
    if (count === (this.#heldBack?.count ?? 0)) return;
    this.#heldBack?.taken.release();
    this.#heldBack = count > 0 ? { count, taken: this.#limiter.take(count) } : null;
  }
}

function release<K>(slots: Map<K, TakenSlots>, key: K): void {
  slots.get(key)?.release();
  slots.delete(key);
}
