import Bottleneck from 'bottleneck';
import { inBackground } from '../../at-once.ts';
import type { Clock } from '../../clock.ts';
import type { TakenSlot } from './budget.ts';
import { type JournalEntry, type KeyJournal, newKey } from './journal/journal.ts';
import type { Lane } from './lanes.ts';
import { type Foreign, type Held, takenSlots } from './slots.ts';

/** A request that wants a slot. */
export interface Claim {
  readonly lane: Lane;
  /** What it is about. */
  readonly resource: string;
  /** True for what takes long by its nature, such as an upload: it does not count as on the wire. */
  readonly lengthy: boolean;
  /** Requests that wait before this one and must find slots too. */
  readonly ahead: number;
}

/** What comes of a claim: a lease, or when to claim again, on `clock.now()`; no slot is free before. */
export type Claimed = { readonly lease: Lease } | { readonly retryAt: number };

/** A slot of the window, held from a request's start until one window after its response ended. */
export interface Lease {
  /** The request leaves now. */
  begin(): void;
  /** Its response has ended. */
  end(): void;
  /** It was not sent after all: the slot is free at once. */
  cancel(): void;
  /**
   * How many requests of ours the upstream can have counted when it answers this one now: all that
   * counted when it left, and all that have left since.
   */
  countable(): number;
}

/** All leases of one key as last known, for estimates and for people: nothing is sent on its word. */
export interface LedgerView {
  /** Requests per window that the upstream grants this key. */
  readonly limit: number;
  /** Leases that count, and what co-tenants have spent. */
  readonly used: number;
  readonly free: number;
  /** What co-tenants have spent and still counts. */
  readonly coTenants: number;
  /** Requests sent, or about to be, and not answered yet, without the lengthy ones. */
  readonly onWire: number;
  /** How long an answer usually takes, in milliseconds. */
  readonly latencyMs: number;
}

/**
 * All leases of one key. Whoever wants to send claims one first, and gets it or a time to try again, now or
 * later: no count of free slots is ever acted on.
 */
export interface Ledger {
  readonly windowMs: number;
  readonly view: LedgerView;
  /** Slots that refreshes leave to readers and writers. */
  readonly reserve: number;
  /** When everything that counts now will have run out, on `clock.now()`; `null` when nothing counts. */
  readonly clearAt: number | null;
  /** Who has the slots that count, the first to be free first. */
  readonly slots: readonly TakenSlot[];
  claim(claim: Claim): Claimed | Promise<Claimed>;
  /** Follows a limit that the upstream announces. Leases already held keep counting. */
  follow(limit: number): void;
  /** Believes that co-tenants have made `count` more requests, which count for another `ms` milliseconds. */
  addCoTenants(count: number, ms: number): void;
  /**
   * When the slot after `ahead` others will be free, on `clock.now()`, if none is used before
   * `notBefore`: exact for answered leases, a guess from the usual latency for those on the wire.
   */
  availableAt(ahead: number, notBefore: number): number;
}

/** Share of the limit that refreshes never take, so that a reader or a writer finds a slot. */
const RESERVE_SHARE = 1 / 15;

/**
 * The ledger of a gateway that has its keys to itself: no sliding window holds more than `limit` leases.
 *
 * A lease is a Bottleneck job that ends one window after its request's response ended. With at most
 * `limit` jobs at a time, the law holds for every window, whatever its edges, since each request that
 * an upstream could still be counting still holds its job.
 *
 * Implements: Link API > Limits.
 */
export class ProcessLedger implements Ledger {
  readonly windowMs: number;
  readonly #clock: Clock;
  readonly #limiter: Bottleneck;
  readonly #journal: KeyJournal;
  #limit: number;
  #onWire = 0;
  #lengthyOnWire = 0;
  /** Leases that are not answered. */
  readonly #unanswered = new Set<Held>();
  /** Answered leases, by their ends, ascending. */
  readonly #answered: Held[] = [];
  /** What co-tenants and the process before have spent, and until when it counts, ascending. */
  #coTenants: Foreign[] = [];
  /** Requests that have left, ever. */
  #begun = 0;
  /** Those of them that are not answered, or answered less than a window ago. */
  #countable = 0;
  /** How long an answer takes, smoothed: for estimates only. */
  #latencyMs = 200;

  constructor(options: {
    readonly clock: Clock;
    /** Requests per window. */
    readonly limit: number;
    readonly windowMs: number;
    /** What is known of the process before, and what the next one will know. */
    readonly journal?: KeyJournal;
  }) {
    this.windowMs = options.windowMs;
    this.#clock = options.clock;
    this.#limit = options.limit;
    this.#journal = options.journal ?? newKey;
    for (const until of this.#journal.recalled) {
      this.#addForeign({ owner: 'replica', count: 1, until });
    }
    this.#limiter = new Bottleneck({ maxConcurrent: options.limit });
    ignoreWallClock(this.#limiter);
  }

  claim({ ahead, lane, lengthy, resource }: Claim): Claimed | Promise<Claimed> {
    const spare = lane === 'refresh' ? this.reserve : ahead;
    if (this.view.free > spare) return this.#lease({ lane, lengthy, resource, end: Infinity });
    return { retryAt: this.availableAt(spare, this.#clock.now()) };
  }

  get reserve(): number {
    return Math.min(this.#limit - 1, Math.max(1, Math.round(this.#limit * RESERVE_SHARE)));
  }

  get view(): LedgerView {
    const now = this.#clock.now();
    const coTenants = this.#coTenantsAt(now).reduce((sum, { count }) => sum + count, 0);
    const used = this.#onWire + this.#answeredAfter(now).length + coTenants;
    return {
      limit: this.#limit,
      used,
      free: Math.max(0, this.#limit - used),
      coTenants,
      onWire: this.#onWire - this.#lengthyOnWire,
      latencyMs: this.#latencyMs,
    };
  }

  get clearAt(): number | null {
    const { used } = this.view;
    return used === 0 ? null : this.#comesBack(used - 1, this.#clock.now());
  }

  get slots(): readonly TakenSlot[] {
    const now = this.#clock.now();
    const own = [...this.#answeredAfter(now), ...this.#unanswered];
    return takenSlots(own, this.#coTenantsAt(now), now);
  }

  follow(limit: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    // A lease taken before Bottleneck has taken the new limit in is granted when it has.
    void this.#limiter.updateSettings({ maxConcurrent: limit });
  }

  addCoTenants(count: number, ms: number): void {
    this.#addForeign({ owner: 'co-tenant', count, until: this.#clock.now() + ms });
  }

  #addForeign(foreign: Foreign): void {
    this.#coTenants.push(foreign);
    this.#coTenants.sort((a, b) => a.until - b.until);
  }

  availableAt(ahead: number, notBefore: number): number {
    const now = this.#clock.now();
    const { used } = this.view;
    const free = this.#limit - used;
    // Each slot comes back a window after it is used again.
    const rounds = Math.floor(ahead / this.#limit);
    const place = (ahead % this.#limit) - Math.max(0, free);
    // More leases than the limit, after it has shrunk: the first to end free nothing.
    const slot = place < 0 ? now : this.#comesBack(place + Math.max(0, -free), now);
    return Math.max(now, notBefore, slot) + rounds * (this.windowMs + this.#latencyMs);
  }

  /** Counts a slot as used at once, and grants it when Bottleneck has it free. */
  #lease(held: Held): Promise<Claimed> {
    this.#onWire += 1;
    if (held.lengthy) this.#lengthyOnWire += 1;
    this.#unanswered.add(held);
    const claimedAt = this.#clock.now();
    return new Promise((resolve) => {
      inBackground(
        this.#limiter.schedule(
          () =>
            new Promise<void>((release) => {
              resolve({ lease: this.#grant(held, claimedAt, release) });
            }),
        ),
      );
    });
  }

  #grant(held: Held, claimedAt: number, release: () => void): Lease {
    const { lengthy } = held;
    let entry: JournalEntry | undefined;
    let begunBefore = 0;
    let countableBefore = 0;
    const answered = (): void => {
      this.#onWire -= 1;
      this.#unanswered.delete(held);
      if (lengthy) this.#lengthyOnWire -= 1;
    };
    return {
      begin: () => {
        this.#countable += 1;
        this.#begun += 1;
        countableBefore = this.#countable;
        begunBefore = this.#begun;
        entry = this.#journal.begin(lengthy);
      },
      countable: () => countableBefore + this.#begun - begunBefore,
      end: () => {
        answered();
        entry?.ended();
        const now = this.#clock.now();
        held.end = now + this.windowMs;
        if (!lengthy) this.#latencyMs += (now - claimedAt - this.#latencyMs) / 8;
        this.#answered.push(held);
        this.#at(held.end, () => {
          this.#countable -= 1;
          release();
        });
      },
      cancel: () => {
        answered();
        entry?.cancelled();
        if (countableBefore > 0) {
          this.#countable -= 1;
          this.#begun -= 1;
        }
        release();
      },
    };
  }

  /** When the `n`th of the slots that count comes back: a guess for those not answered yet. */
  #comesBack(n: number, now: number): number {
    const ends = this.#answeredAfter(now);
    let rest = n;
    let answered = 0;
    for (const { count, until } of this.#coTenantsAt(now)) {
      for (; (ends[answered]?.end ?? Number.POSITIVE_INFINITY) <= until; answered += 1, rest -= 1) {
        if (rest === 0) return ends[answered]?.end ?? now;
      }
      if (rest < count) return until;
      rest -= count;
    }
    // No answer that is still to come frees a slot before those that have come.
    return ends[answered + rest]?.end ?? now + this.#latencyMs + this.windowMs;
  }

  #answeredAfter(now: number): readonly Held[] {
    while ((this.#answered[0]?.end ?? Number.POSITIVE_INFINITY) <= now) this.#answered.shift();
    return this.#answered;
  }

  #coTenantsAt(now: number): readonly Foreign[] {
    if (this.#coTenants[0] && this.#coTenants[0].until <= now) {
      this.#coTenants = this.#coTenants.filter(({ until }) => until > now);
    }
    const until = this.#journal.unknownUntil;
    if (until <= now) return this.#coTenants;
    // The process before may have spent all of it: neither can spend more than half then, or wait for ever.
    const count = Math.floor(this.#limit / 2);
    const half: Foreign = { owner: 'replica', count, until };
    return [...this.#coTenants, half].sort((a, b) => a.until - b.until);
  }

  /** Runs a task at a moment and never before it: timers can be early by a fraction of a millisecond. */
  #at(moment: number, task: () => void): void {
    const rest = moment - this.#clock.now();
    if (rest <= 0) task();
    else this.#clock.after(Math.ceil(rest), () => this.#at(moment, task));
  }
}

/**
 * Takes the wall clock from Bottleneck, which starts no job before the wall-clock time at which it
 * started the last: a clock set back by an hour would stop all requests for an hour. Nothing is lost
 * without it, since no minimum time between jobs is asked for.
 */
function ignoreWallClock(limiter: Bottleneck): void {
  const store: unknown = Reflect.get(limiter, '_store');
  if (typeof store !== 'object' || store === null) return;
  Object.defineProperty(store, '_nextRequest', { get: () => 0, set: () => {} });
}
