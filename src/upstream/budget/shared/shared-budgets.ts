import { BoundedMap } from '../../../bounded-map.ts';
import type { UpstreamName } from '../../../errors.ts';
import type { PermitOutcome } from '../../../observe/events.ts';
import type { EndedMessage } from '../../../redis/messages.ts';
import type { Replica } from '../../../redis/replica.ts';
import type { SwapMoment } from '../../../redis/shared-document.ts';
import type { ProtocolTimes } from '../../../redis/times.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import type { Stamp } from '../../request.ts';
import type { BudgetWatch, SharedResult } from '../budget.ts';
import { QueuedBudget } from '../queued-budget.ts';
import { othersIn } from './members.ts';
import { RedisStore } from './redis-store.ts';
import { SharedLedger } from './shared-ledger.ts';

/** Budgets of callers' keys whose ledgers are remembered. */
const LEDGERS_REMEMBERED = 2000;
/** Budgets whose state is told with each beat, besides those of the operator's keys. */
const MOST_WATCHED = 20;

/** A key, and what its upstream grants it. */
interface SharedKey {
  readonly upstream: UpstreamName;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly secret: string;
  readonly rateLimit: number;
  readonly rateWindowMs: number;
  readonly timeoutMs: number;
}

interface SharedBudgetsOptions {
  readonly replica: Replica;
  readonly clock: Clock;
  readonly times: ProtocolTimes;
  /** A name that tells nothing of what it is made of. */
  readonly nameOf: (kind: string, text: string) => string;
  readonly isOut: () => boolean;
  readonly quarantineMs: (upstream: UpstreamName) => number;
  readonly stampOf: (claim: SwapMoment) => Stamp;
  /** Whether an answer that shows all writes up to a number is right for some tags. */
  readonly shows: (tags: readonly string[], asOf: number) => boolean;
  readonly observer: (upstream: UpstreamName, outcome: PermitOutcome) => void;
  /** Told of what befalls the budgets of an upstream. */
  readonly watch: (upstream: UpstreamName) => BudgetWatch;
}

/** The budgets that replicas share, as far as this one uses them. */
export class SharedBudgets {
  readonly #options: SharedBudgetsOptions;
  /** Of the operator's keys, which are watched always. */
  readonly #own = new Map<string, SharedLedger>();
  readonly #others = new BoundedMap<SharedLedger>({ max: LEDGERS_REMEMBERED });
  /** The budgets under which something waits, by name. */
  readonly #waiting = new Map<string, Set<QueuedBudget>>();
  #permits = 0;
  #isLeaving = false;

  constructor(options: SharedBudgetsOptions) {
    this.#options = options;
  }

  /** Follows the budget of a key from now on, used or not. */
  watch(key: SharedKey): void {
    const ledger = this.#newLedger(key);
    this.#own.set(ledger.name, ledger);
  }

  /** The budget of a key. To make one that nothing is sent under leaves no trace. */
  of(key: SharedKey): QueuedBudget {
    const { clock, isOut, nameOf, observer, quarantineMs, replica, stampOf, times } = this.#options;
    const { upstream } = key;
    const ledger = this.#ledgerOf(key);
    const store = new RedisStore({
      clock,
      ledger,
      times,
      nextId: () => {
        this.#permits += 1;
        return `${replica.id}.${this.#permits.toString(36)}`;
      },
      isOut,
      quarantineMs: () => quarantineMs(upstream),
      nameOf: (caller) => nameOf('caller', caller),
      stampOf,
      observer: (outcome) => observer(upstream, outcome),
    });
    return new QueuedBudget(clock, store, (budget, does) => {
      this.#noteWaiting(ledger.name, budget, does);
    });
  }

  /** This replica ends: it claims nothing any more. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** The ledgers whose state is of interest. */
  get watched(): readonly SharedLedger[] {
    const waiting = this.names.filter((name) => !this.#own.has(name));
    const others = waiting.slice(0, MOST_WATCHED).flatMap((name) => this.#others.peek(name) ?? []);
    return [...this.#own.values(), ...others];
  }

  /** The names of budgets under which something waits. */
  get names(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  /**
   * What is known of the other replicas by the budgets that are watched: when each sent last, as far as that counts
   * still, and how many requests wait there.
   */
  get others(): ReadonlyMap<
    string,
    { readonly sentMsAgo: number | null; readonly queued: number }
  > {
    return othersIn(this.watched);
  }

  /**
   * Slots of an upstream's watched budgets that are kept for replicas which ended without a word, and milliseconds
   * until the last of them is free.
   */
  ghosts(upstream: UpstreamName): { readonly slots: number; readonly ms: number } {
    let slots = 0;
    let last = 0;
    for (const { name, rules, standing } of this.watched) {
      if (!name.startsWith(budgetsOf(upstream))) continue;
      const { budget, now } = standing;
      const ghosts = budget.held.filter(({ ghost }) => ghost);
      slots += ghosts.length;
      for (const { grantedAt } of ghosts) {
        last = Math.max(last, grantedAt + (rules.ghostMs ?? 0) - now);
      }
    }
    return { slots, ms: last };
  }

  /** Another replica's request has ended: for a read by this key, if it was one. */
  endedElsewhere({ code, document, kept, key }: EndedMessage): void {
    const failed: SharedResult | null = code === null ? null : { kind: 'failed', code };
    const result = kept ? ({ kind: 'shared' } as const) : failed;
    for (const budget of this.#waiting.get(document) ?? []) budget.endedElsewhere(key, result);
  }

  /** Whether the ledgers can be asked, or what they remember, is other than before. */
  outageChanged(): void {
    for (const budgets of this.#waiting.values()) {
      for (const budget of budgets) budget.storeChanged();
    }
  }

  #nameOf({ baseUrl, secret, upstream }: SharedKey): string {
    return `${budgetsOf(upstream)}${this.#options.nameOf('budget', `${baseUrl} ${secret}`)}`;
  }

  #ledgerOf(key: SharedKey): SharedLedger {
    const name = this.#nameOf(key);
    const known = this.#own.get(name) ?? this.#others.get(name);
    if (known) return known;
    const ledger = this.#newLedger(key);
    this.#others.set(name, ledger);
    return ledger;
  }

  #newLedger(key: SharedKey): SharedLedger {
    const { clock, replica, shows, times } = this.#options;
    const { rateLimit: limit, rateWindowMs: windowMs, timeoutMs } = key;
    const name = this.#nameOf(key);
    return new SharedLedger({
      replica,
      clock,
      times,
      name,
      limit,
      windowMs,
      timeoutMs,
      shows,
      isLeaving: () => this.#isLeaving,
      watch: this.#options.watch(key.upstream),
    });
  }

  #noteWaiting(name: string, budget: QueuedBudget, does: boolean): void {
    const budgets = this.#waiting.get(name) ?? new Set();
    if (does) {
      this.#waiting.set(name, budgets.add(budget));
      return;
    }
    budgets.delete(budget);
    if (budgets.size === 0) this.#waiting.delete(name);
  }
}

/** What the names of an upstream's budgets begin with. */
function budgetsOf(upstream: UpstreamName): string {
  return `${upstream}:`;
}
