import type { CallerClasses } from '../../../auth/caller-class.ts';
import { BoundedMap } from '../../../bounded-map.ts';
import type { UpstreamName } from '../../../errors.ts';
import type { EndedMessage } from '../../../redis/messages.ts';
import type { SharedResult } from '../budget.ts';
import { countWaiting } from '../law/callers/turns.ts';
import type { ReservedShares } from '../law/document.ts';
import { QueuedBudget } from '../queued-budget.ts';
import { RedisStore, type SharedWorld } from './redis-store.ts';

/** Maximum number of remembered budgets of callers' keys. */
const STORES_REMEMBERED = 2000;
/** Maximum number of budgets whose state is read with each beat, in addition to those of the operator's keys. */
const MOST_WATCHED = 20;

/** Number of characters of a replica's name that distinguish it from the others. */
const NAME_LENGTH = 6;

/** The state of a process, as its shared budgets show it. */
interface Standing {
  /** Milliseconds since its last request; `null` if that no longer counts. */
  readonly sentMsAgo: number | null;
  /** Number of requests that wait there. */
  readonly queued: number;
}

/** A process on the same budgets, as seen by this one. */
export interface Member extends Standing {
  readonly name: string;
  readonly self: boolean;
}

/** A key and its limit. */
interface SharedKey {
  readonly upstream: UpstreamName;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly secret: string;
  readonly rateLimit: number;
  readonly rateWindowMs: number;
  readonly reserves?: ReservedShares | undefined;
  readonly classes?: CallerClasses | undefined;
  /** See `Rules`; 2 by default. */
  readonly jobsMinPerMinute?: number | undefined;
  readonly timeoutMs: number;
}

interface SharedBudgetsOptions extends SharedWorld {
  /** A name that does not reveal what it is derived from. */
  readonly nameOf: (kind: string, text: string) => string;
}

/** The shared budgets that this replica uses. */
export class SharedBudgets {
  readonly #options: SharedBudgetsOptions;
  /** Budgets of the operator's keys, which are always watched. */
  readonly #own = new Map<string, RedisStore>();
  readonly #others = new BoundedMap<RedisStore>({ max: STORES_REMEMBERED });
  /** The budgets with waiting requests, by name. */
  readonly #waiting = new Map<string, Set<QueuedBudget>>();
  #permits = 0;
  #isLeaving = false;

  constructor(options: SharedBudgetsOptions) {
    this.#options = options;
  }

  /** Watches the budget of a key from now on, even if it is not used; replaces an earlier one. */
  watch(key: SharedKey, inPlaceOf?: SharedKey): void {
    const store = this.#storeOf(key);
    this.#own.set(store.document.name, store);
    if (!inPlaceOf) return;
    const before = this.#storeOf(inPlaceOf);
    this.#own.delete(before.document.name);
    // Requests of the earlier key may still wait.
    this.#others.set(before.document.name, before);
  }

  /** The budget of a key. A budget without requests is not stored anywhere. */
  of(key: SharedKey): QueuedBudget {
    const store = this.#storeOf(key);
    return new QueuedBudget(this.#options.clock, store, (budget, does) => {
      this.#noteWaiting(store.document.name, budget, does);
    });
  }

  /**
   * Shuts down: this replica makes no further claims. Resolves when Redis has the results of its requests, or after the
   * timeout of a command.
   */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    const { clock, times } = this.#options;
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = clock.after(times.callMs, resolve);
    });
    await Promise.race([Promise.all(this.watched.map(({ document }) => document.idle())), late]);
    cancel();
  }

  /** The budgets whose state is watched. */
  get watched(): readonly RedisStore[] {
    const waiting = this.names.filter((name) => !this.#own.has(name));
    const others = waiting.slice(0, MOST_WATCHED).flatMap((name) => this.#others.peek(name) ?? []);
    return [...this.#own.values(), ...others];
  }

  /** The names of budgets with waiting requests. */
  get names(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  /**
   * The state of the other replicas from the watched budgets: when each sent its last request, if that still counts,
   * and the number of requests that wait there.
   */
  get others(): ReadonlyMap<string, Standing> {
    const others = new Map<string, { sentMsAgo: number | null; queued: number }>();
    const other = (name: string) => {
      const known = others.get(name) ?? { sentMsAgo: null, queued: 0 };
      others.set(name, known);
      return known;
    };
    for (const { bids, view } of this.watched) {
      for (const { grantedAt, owner } of [...view.budget.held, ...view.budget.answered]) {
        if (owner === this.#options.replica.id) continue;
        const known = other(owner);
        const ms = Math.max(0, Math.round(view.now - grantedAt));
        known.sentMsAgo = Math.min(known.sentMsAgo ?? Infinity, ms);
      }
      for (const [name, bid] of bids) other(name).queued += countWaiting(bid);
    }
    return others;
  }

  /**
   * Slots of an upstream's watched budgets that are kept for replicas that ended without a report, and
   * milliseconds until the last of them is free.
   */
  ghosts(upstream: UpstreamName): { readonly slots: number; readonly ms: number } {
    let slots = 0;
    let last = 0;
    for (const store of this.watched) {
      if (!store.document.name.startsWith(budgetsOf(upstream))) continue;
      const { budget, now } = store.view;
      const ghosts = budget.held.filter(({ ghost }) => ghost);
      slots += ghosts.length;
      for (const { grantedAt } of ghosts) {
        last = Math.max(last, grantedAt + (store.rules.ghostMs ?? 0) - now);
      }
    }
    return { slots, ms: last };
  }

  /** A request of another replica has ended; `key` identifies its read, if it was one. */
  endedElsewhere({ code, document, kept, key }: EndedMessage): void {
    const failed: SharedResult | null = code === null ? null : { kind: 'failed', code };
    const result = kept ? ({ kind: 'shared' } as const) : failed;
    for (const budget of this.#waiting.get(document) ?? []) budget.endedElsewhere(key, result);
  }

  /** Another replica has unlocked a row: writes to it may get a slot. */
  unlockedElsewhere(): void {
    for (const budgets of this.#waiting.values()) {
      for (const budget of budgets) budget.endedElsewhere(null, null);
    }
  }

  /** Redis became unreachable or reachable, or its data changed. */
  outageChanged(): void {
    for (const budgets of this.#waiting.values()) {
      for (const budget of budgets) budget.storeChanged();
    }
  }

  #nameOf({ baseUrl, secret, upstream }: SharedKey): string {
    return `${budgetsOf(upstream)}${this.#options.nameOf('budget', `${baseUrl} ${secret}`)}`;
  }

  #storeOf(key: SharedKey): RedisStore {
    const name = this.#nameOf(key);
    const known = this.#own.get(name) ?? this.#others.get(name);
    if (known) return known;
    const store = this.#newStore(key);
    this.#others.set(name, store);
    return store;
  }

  #newStore(key: SharedKey): RedisStore {
    const { nameOf, ...world } = this.#options;
    const { classes, rateLimit: limit, rateWindowMs: windowMs, reserves } = key;
    const { jobsMinPerMinute, timeoutMs, upstream } = key;
    return new RedisStore({
      ...world,
      upstream,
      name: this.#nameOf(key),
      limit,
      windowMs,
      reserves,
      classes,
      jobsMinPerMinute,
      timeoutMs,
      nameOf: (caller) => nameOf('caller', caller),
      nextId: () => {
        this.#permits += 1;
        return `${world.replica.id}.${this.#permits.toString(36)}`;
      },
      isLeaving: () => this.#isLeaving,
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

/** Prefix of the names of an upstream's budgets. */
function budgetsOf(upstream: UpstreamName): string {
  return `${upstream}:`;
}

/** All replicas that are alive: `self` first, then those that the budgets mention. */
export function membersOf(
  self: Standing & { readonly id: string },
  others: ReadonlyMap<string, Standing>,
  alive: number,
): Member[] {
  const { id, queued, sentMsAgo } = self;
  const known = [
    { name: id.slice(0, NAME_LENGTH), self: true, sentMsAgo, queued },
    ...[...others].map(([name, standing]) => {
      return { name: name.slice(0, NAME_LENGTH), self: false, ...standing };
    }),
  ];
  // Of a replica without recent or waiting requests, only the presence is known.
  const silent = { name: 'another', self: false, sentMsAgo: null, queued: 0 };
  const rest = Math.max(0, alive - known.length);
  return [...known, ...Array.from({ length: rest }, () => silent)];
}
