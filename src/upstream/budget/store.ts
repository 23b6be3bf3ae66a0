import type { AtOnce } from '../../at-once.ts';
import type { Clock } from '../../clock.ts';
import { type JournalEntry, type KeyJournal, newKey } from './journal/journal.ts';
import { type KeyBudget, newBudget, type Rules } from './law/document.ts';
import { addAnswered, purge } from './law/slots.ts';

/**
 * A change of a budget: may change the draft in place, and answers something. It may be run again on a newer draft, so
 * it has no other effect.
 */
export type Step<T> = (draft: KeyBudget, now: number) => T;

/** Where the budget of one key is kept. */
export interface BudgetStore {
  readonly rules: Rules;
  /** Takes a step on the budget as it stands, and keeps what it makes of it. */
  change<T>(step: Step<T>): AtOnce<T>;
  /** The budget as last known, for estimates and for people: nothing is sent on its word. Not to be changed. */
  readonly known: KeyBudget;
  /** The moment of now on the clock of `known`. */
  readonly now: number;
}

/** Owner of the slots that the process before had. */
const PROCESS_BEFORE = 'before';

/** Keeps the budget of a key that this process has to itself, and writes each slot into the journal. */
export class MemoryStore implements BudgetStore {
  readonly rules: Rules;
  readonly #clock: Clock;
  readonly #journal: KeyJournal;
  readonly #budget: KeyBudget;
  /** What is written of the slots that are held. */
  readonly #entries = new Map<string, JournalEntry>();

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
    this.rules = { limit, windowMs, marginMs: 0, holdMs: null, ghostMs: null };
    const now = clock.now();
    this.#budget = newBudget(this.rules, now);
    for (const [at, until] of journal.recalled.entries()) {
      const slot = { id: `${PROCESS_BEFORE} ${at}`, owner: PROCESS_BEFORE, until };
      addAnswered(this.#budget, { ...slot, grantedAt: now, endedAt: now });
    }
    if (journal.unknownUntil > now) this.#budget.unknownUntil = journal.unknownUntil;
  }

  get known(): KeyBudget {
    purge(this.#budget, this.rules, this.now);
    return this.#budget;
  }

  get now(): number {
    return this.#clock.now();
  }

  change<T>(step: Step<T>): T {
    const { now } = this;
    purge(this.#budget, this.rules, now);
    const result = step(this.#budget, now);
    this.#write();
    return result;
  }

  /** Writes down which slots are held now, and how those ended that are not any more. */
  #write(): void {
    const { answered, held } = this.#budget;
    for (const { id, lengthy = false } of held) {
      if (!this.#entries.has(id)) this.#entries.set(id, this.#journal.begin(lengthy));
    }
    if (this.#entries.size === held.length) return;
    const ids = new Set(held.map(({ id }) => id));
    for (const [id, entry] of this.#entries) {
      if (ids.has(id)) continue;
      this.#entries.delete(id);
      if (answered.findLast((slot) => slot.id === id)) entry.ended();
      else entry.cancelled();
    }
  }
}
