import type { UpstreamName } from '../../errors.ts';
import type { EventStream } from '../../observe/event-stream.ts';
import type { AtOnce } from '../../scheduling/at-once.ts';
import type { Clock } from '../../scheduling/clock.ts';
import type { Feedback } from '../wire/rate-limit-headers.ts';
import type { BudgetView } from './forecast.ts';
import { callerInClass, classOf, quotaUse } from './law/callers.ts';
import { claimSlots } from './law/claim.ts';
import { type KeyBudget, newBudget, type Rules } from './law/document.ts';
import { cancelSlot, endSlot } from './law/ended.ts';
import { addAnswered, pausedMs, purge } from './law/slots.ts';
import type { Queue, SlotRequest } from './queue.ts';
import type { KeySlots, SavedSlot } from './saved-slots.ts';
import { SlotLimiter } from './slot-limiter.ts';

/**
 * A slot of the window for one request, held from now until one window after its response ended. Exactly one of
 * `release` and `end` is called.
 */
export interface Slot {
  /** Unique on the budget. */
  readonly id: string;
  /** Resolves when the request may leave; see `Store.saved`. */
  saved(): AtOnce<void>;
  /** Whether the request may still be sent: checked in the turn in which its first byte leaves. */
  readonly mayLeave: () => boolean;
  /** The request was not sent: the slot is free immediately. */
  release(): void;
  /**
   * The response has ended. A request that is repeated calls `Budget.turn` in the same run, before another request gets
   * the free slot.
   */
  end(feedback: Feedback): void;
}

/** The budget of one key; by default, `jobsMinPerMinute` is 2. */
export interface KeyBudgetOptions extends Rules {
  readonly clock: Clock;
  /** The slots of the owners before, and those for the next one. */
  readonly saved: KeySlots;
  readonly upstream: UpstreamName;
  readonly events?: EventStream | undefined;
}

/** The result of a claim. */
interface Claimed {
  readonly taken: readonly { readonly request: SlotRequest; readonly slot: Slot }[];
  /** Milliseconds after which to claim again for the others; infinite if only a change requires it. */
  readonly waitMs: number;
}

/** What a slot is used for. */
export type SlotUse = Pick<SlotRequest, 'lane' | 'resource'>;

/** A slot of a request that counts; those of the owners before have no use. */
interface Counting {
  /** Frees it. */
  readonly release: () => void;
  readonly use?: SlotUse;
}

/**
 * Keeps the budget of a key, and grants its slots. Every slot of a request is a job of one limiter, which
 * counts them. Each slot is saved before its request is sent.
 */
export class KeyBudgetStore {
  readonly rules: Rules;
  /** The latest known budget, for values that do not depend on the time: it can contain slots that have ended. */
  readonly budget: KeyBudget;
  readonly #options: KeyBudgetOptions;
  readonly #limiter: SlotLimiter;
  readonly #slots = new Map<string, Counting>();

  constructor(options: KeyBudgetOptions) {
    const { classes, clock, jobsMinPerMinute = 2, limit, reserves, saved, windowMs } = options;
    this.#options = options;
    this.#limiter = new SlotLimiter(limit);
    this.rules = { limit, windowMs, reserves, classes, jobsMinPerMinute };
    const now = clock.now();
    const b = newBudget(this.rules, now);
    this.budget = b;
    for (const [at, { callerClass, until }] of saved.recalled.entries()) {
      const id = `before ${at}`;
      // Of its caller, only the class is known: this matters where the class has a limit.
      const isLimited = callerClass && quotaUse(b, this.rules, now, callerClass) !== null;
      const caller = isLimited ? { caller: callerInClass('', callerClass) } : {};
      addAnswered(b, { id, until, grantedAt: now, ...caller });
      this.#slots.set(id, { release: this.#limiter.take() });
    }
    if (saved.unknownUntil > now) b.unknownUntil = saved.unknownUntil;
    b.caution.blind = !saved.isKnown;
    b.caution.coTenantAt = saved.coTenantSeenAt;
  }

  /** The current budget, for estimates and display only. Purged at each access. */
  get view(): BudgetView {
    const now = this.#purge();
    return { budget: this.budget, rules: this.rules, now };
  }

  /** The use of a slot by this process. */
  useOf(id: string): SlotUse | undefined {
    return this.#slots.get(id)?.use;
  }

  /** Claims slots for the waiting requests whose turn it is; `freed` is called when one of the slots is returned. */
  claim(queue: Queue<SlotRequest>, drains: boolean, freed: (refused: boolean) => void): Claimed {
    const now = this.#purge();
    const options = { drains, taken: this.#limiter.taken };
    const { granted, waitMs } = claimSlots(this.budget, this.rules, now, queue, options);
    const taken = granted.map(({ id, request }) => {
      const { caller, lane, lengthy = false, resource } = request;
      const row = this.#options.saved.begin(
        lengthy,
        lane === 'refresh' ? undefined : classOf(caller),
      );
      this.#slots.set(id, { release: this.#limiter.take(), use: { lane, resource } });
      return { request, slot: this.#slotOf(id, row, freed) };
    });
    return { taken, waitMs };
  }

  #slotOf(id: string, row: SavedSlot, freed: (refused: boolean) => void): Slot {
    const { clock, saved } = this.#options;
    const b = this.budget;
    return {
      id,
      saved: () => saved.saved(),
      // A pause can begin between a turn and the first byte, and the process can be suspended.
      mayLeave: () => {
        const now = clock.now();
        return now <= row.leaveBy && pausedMs(b, now) === 0;
      },
      release: () => {
        this.#purge();
        cancelSlot(b, id);
        row.cancelled();
        this.#frees(id);
        freed(false);
      },
      end: (feedback) => {
        this.#learn(id, feedback);
        row.ended();
        freed(feedback.refused !== undefined);
      },
    };
  }

  #learn(id: string, feedback: Feedback): void {
    const { events, saved, upstream } = this.#options;
    const b = this.budget;
    const { coTenantAt } = b.caution;
    const now = this.#purge();
    const { foreign, pauses } = endSlot(b, this.rules, now, { id, feedback });
    this.#limiter.limit = b.limit;
    if (b.caution.coTenantAt !== coTenantAt) saved.coTenantSeen();
    if (foreign > 0) events?.emit('foreign', { upstream, count: foreign });
    if (pauses) events?.emit('paused', { upstream, ms: pausedMs(b, now) });
  }

  /** Removes slots that no longer count, and returns the current time. */
  #purge(): number {
    const now = this.#options.clock.now();
    for (const { id } of purge(this.budget, now)) this.#frees(id);
    return now;
  }

  #frees(id: string): void {
    this.#slots.get(id)?.release();
    this.#slots.delete(id);
  }
}
