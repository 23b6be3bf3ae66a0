import { RedisUnavailable } from '../../../redis/failures.ts';
import type { Replica } from '../../../redis/replica.ts';
import {
  type Changed,
  type DocumentStep,
  type Effects,
  SharedDocument,
  type Surroundings,
} from '../../../redis/shared-document.ts';
import { holdMs, type ProtocolTimes } from '../../../redis/times.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import type { Feedback } from '../../wire/rate-limit-headers.ts';
import type { BudgetWatch } from '../budget.ts';
import { type KeyBudget, newBudget, type Rules } from '../law/document.ts';
import { cancelSlot, endSlot, renewSlot } from '../law/ended.ts';
import { purge } from '../law/slots.ts';
import type { WaitingCounts } from '../law/turns.ts';
import { claimNothing, claimShared, type SharedClaim, type SharedWant } from './shared-claim.ts';
import { bidsIn, budgetForm } from './texts.ts';

/** How a request ended that had a permit. */
export interface SharedEnding {
  /** In which its permit was given. */
  readonly epoch: string;
  readonly feedback: Feedback;
  readonly key?: string;
  /** Whether its answer is in Redis. */
  readonly kept: boolean;
  readonly code?: string;
  /** It was a write that has changed nothing. */
  readonly withdraw?: boolean;
}

interface SharedLedgerOptions {
  readonly replica: Pick<Replica, 'applied' | 'call' | 'epoch' | 'id'>;
  readonly clock: Clock;
  readonly times: ProtocolTimes;
  /** Of the key's budget, in Redis. */
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly timeoutMs: number;
  /** Whether an answer that shows all writes up to a number is right for some tags. */
  readonly shows: (tags: readonly string[], asOf: number) => boolean;
  /** Whether this replica ends: a claim that is under way gets nothing then, and leaves no bid. */
  readonly isLeaving: () => boolean;
  readonly watch: BudgetWatch;
}

/** How long a slot counts whose replica ended without a word and may only be stopped, in milliseconds. */
const GHOST_MS = 600_000;
/** Of co-tenants' slots that come back together, as many are told of: any number can be announced. */
const MOST_TOLD = 1000;

/** The budget of one key in Redis, which all replicas share. */
export class SharedLedger {
  readonly rules: Rules;
  /** For how long nothing is sent when Redis has lost its memory, in milliseconds. */
  readonly holdMs: number;
  readonly document: SharedDocument<KeyBudget>;
  readonly #options: SharedLedgerOptions;
  /** When the intent of a write whose replica was not heard of any more counts as the write, in milliseconds. */
  readonly #intentMs: number;
  /** Slots of others that counted when the budget was last heard of, by when they come back at the latest. */
  #foreign: readonly number[] = [];
  #pausedUntil: number | null = null;
  /** The budget as last known, for what does not depend on the time: slots may be in it that are over. */
  budget: KeyBudget;
  /** What waits on other replicas, by their names. */
  bids: ReadonlyMap<string, WaitingCounts> = new Map();

  constructor(options: SharedLedgerOptions) {
    const { limit, name, replica, times, timeoutMs, windowMs } = options;
    this.#options = options;
    this.holdMs = holdMs(times, options);
    this.#intentMs = times.sendByMs + timeoutMs + times.marginMs;
    const { marginMs } = times;
    this.rules = { limit, windowMs, marginMs, holdMs: this.holdMs, ghostMs: GHOST_MS };
    this.budget = newBudget(this.rules, 0);
    this.document = new SharedDocument({
      replica,
      name,
      form: budgetForm(this.rules),
      heard: (known) => {
        this.budget = known?.document ?? newBudget(this.rules, 0);
        this.bids = known ? bidsIn(known) : new Map();
        this.#tellWatch(known?.now ?? 0);
      },
    });
  }

  get name(): string {
    return this.document.name;
  }

  /** The budget as it stands at the moment of now, on its own clock: nothing is sent on its word. Not to be changed. */
  get standing(): { readonly budget: KeyBudget; readonly now: number } {
    const { known } = this.document;
    const now = known ? known.now + (this.#options.clock.now() - known.heardAt) : 0;
    purge(this.budget, this.rules, now);
    return { budget: this.budget, now };
  }

  /** Whether a replica is heard of. */
  readonly isAlive = (owner: string): boolean =>
    this.isOwn(owner) || this.document.known?.others.has(owner) === true;

  /** Whether a slot is one of this replica. */
  isOwn(owner: string): boolean {
    return owner === this.#options.replica.id;
  }

  /**
   * Claims permits. Rejects with `RedisUnavailable`, whose `doubtful` says that they may have been given, or
   * with `RedisRefused`.
   */
  claim(wants: readonly SharedWant[], waits: WaitingCounts): Promise<Changed<SharedClaim>> {
    const { isLeaving, replica, shows } = this.#options;
    return this.document.change((b, around, effects) => {
      const of = { wants, waits, shows, self: replica.id };
      if (isLeaving()) return claimNothing(effects, of);
      const { holdMs: hold } = this;
      const intentMs = this.#intentMs;
      const rules = this.#rulesIn(around);
      return claimShared(b, around, effects, { ...of, rules, holdMs: hold, intentMs });
    });
  }

  /** Gives a permit back that was not used, or may not even have been given. */
  async giveBack(id: string): Promise<void> {
    await this.#tell((b, _, effects) => {
      cancelSlot(b, id);
      effects.dropped.add(id);
      this.#tellEnded(effects, {});
    });
  }

  /** A request has ended just now. What goes wrong is tried again for as long as it matters. */
  async ended(id: string, ending: SharedEnding): Promise<void> {
    const { clock, replica } = this.#options;
    const at = clock.now();
    const { epoch, feedback, withdraw } = ending;
    await this.#tell((b, around, effects) => {
      const kept = ending.kept && epoch === replica.epoch;
      const flight = b.held.find((slot) => slot.id === id)?.flight;
      endSlot(b, this.#rulesIn(around), around.now, {
        id,
        owner: replica.id,
        feedback,
        agoMs: clock.now() - at,
        ...(kept && flight ? { flight: { ...flight, keptAt: around.shared } } : {}),
      });
      if (withdraw) effects.dropped.add(id);
      this.#tellEnded(effects, { ...ending, kept });
    });
  }

  /** A lengthy request is still under way. */
  async renew(id: string): Promise<void> {
    await this.#tell((b, around, effects) => {
      renewSlot(b, this.#rulesIn(around), around.now, id, this.#options.replica.id);
      effects.renewed.set(id, this.holdMs);
    });
  }

  /** A slot counts so much longer as the time is not known. */
  #rulesIn({ unsureMs }: Surroundings): Rules {
    const { marginMs } = this.rules;
    return { ...this.rules, marginMs: marginMs + unsureMs, holdMs: this.holdMs + unsureMs };
  }

  /** Tells what others have to do with the budget, as it was heard of at a moment on its own clock. */
  #tellWatch(now: number): void {
    const { watch } = this.#options;
    const { answered, coTenants, held, pause } = this.budget;
    const before = this.#foreign.filter((until) => until > now).length;
    this.#foreign = [
      ...held.filter(({ owner }) => !this.isOwn(owner)).map(() => Infinity),
      ...answered.flatMap(({ owner, until }) => (this.isOwn(owner) ? [] : until)),
      ...coTenants.flatMap(({ count, until }) => Array(Math.min(count, MOST_TOLD)).fill(until)),
    ];
    if (this.#foreign.length > before) watch.foreign(this.#foreign.length - before);
    const wasPaused = (this.#pausedUntil ?? now) > now;
    this.#pausedUntil = pause.until;
    if (pause.until !== null && pause.until > now && !wasPaused) watch.paused(pause.until - now);
  }

  #tellEnded(
    { messages }: Effects,
    { code, kept = false, key }: Partial<Pick<SharedEnding, 'code' | 'kept' | 'key'>>,
  ): void {
    const by = this.#options.replica.id;
    const message = { kind: 'ended', document: this.name, key, kept, code, by };
    messages.push({ text: JSON.stringify(message), always: key !== undefined });
  }

  async #tell(step: DocumentStep<KeyBudget, void>): Promise<void> {
    const { clock, times } = this.#options;
    // Then every permit that was given before has run out by itself.
    const until = clock.now() + 2 * this.holdMs;
    while (clock.now() < until) {
      try {
        await this.document.change(step);
        return;
      } catch (error) {
        const waitMs = error instanceof RedisUnavailable ? times.beatMs : times.leaseMs;
        await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
      }
    }
  }
}
