import type { Clock } from '../../clock.ts';
import type { TakenSlot } from './budget.ts';
import { type JournalEntry, type KeyJournal, newKey } from './journal/journal.ts';
import type { Lane } from './lanes.ts';
import { SlotLimiter, type TakenSlots } from './slot-limiter.ts';
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

/** Share of the limit that refreshes never take, so that a reader or a writer finds a slot. */
const RESERVE_SHARE = 1 / 15;

/**
 * All leases of one key in a gateway that has its keys to itself: no sliding window holds more than `limit` leases.
 *
 * A lease takes a slot from its claim until one window after its request's response ended, and a claim is granted only
 * while a slot is free. So the law holds for every window, whatever its edges, since each request that an upstream could
 * still be counting still has its slot. Slots of others count like these.
 *
 * Implements: Link API > Limits.
 */
export class ProcessLedger {
  readonly windowMs: number;
  readonly #clock: Clock;
  readonly #limiter: SlotLimiter;
  /** What is known of the process before, and what the next one will know. */
  readonly journal: KeyJournal;
  #onWire = 0;
  #lengthyOnWire = 0;
  /** Leases that are not answered. */
  readonly #unanswered = new Set<Held>();
  /** Answered leases, by their ends, ascending. */
  readonly #answered: Counted<Held>[] = [];
  /** What co-tenants and the process before have spent, and until when it counts, ascending. */
  readonly #foreign: Counted<Foreign>[] = [];
  /** What the process before may have spent, while that is not known: neither can spend more than half then. */
  #unknown: Counted<Foreign> | null = null;
  /** Whether the upstream has told how much of the window is spent. */
  #isTold = false;
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
    this.journal = options.journal ?? newKey;
    this.#limiter = new SlotLimiter(options.limit);
    for (const until of this.journal.recalled) {
      this.#addForeign({ owner: 'replica', count: 1, until });
    }
    this.#holdBackHalf();
  }

  /** Grants a slot if more are free than have to be left to others. It counts from then on. */
  claim({ ahead, lane, lengthy, resource }: Claim): Claimed {
    const spare = lane === 'refresh' ? this.reserve : ahead;
    if (this.view.free > spare) {
      return { lease: this.#lease({ lane, lengthy, resource, end: Infinity }) };
    }
    return { retryAt: this.availableAt(spare, this.#clock.now()) };
  }

  /** Slots that refreshes leave to readers and writers. */
  get reserve(): number {
    const { limit } = this.#limiter;
    return Math.min(limit - 1, Math.max(1, Math.round(limit * RESERVE_SHARE)));
  }

  get view(): LedgerView {
    this.#freeEnded();
    const { free, limit, taken } = this.#limiter;
    return {
      limit,
      used: taken,
      free,
      coTenants: this.#foreign.reduce((sum, { count }) => sum + count, 0),
      onWire: this.#onWire - this.#lengthyOnWire,
      latencyMs: this.#latencyMs,
    };
  }

  /** When everything that counts now will have run out, on `clock.now()`; `null` when nothing counts. */
  get clearAt(): number | null {
    const { used } = this.view;
    return used === 0 ? null : this.#comesBack(used - 1, this.#clock.now());
  }

  /** Who has the slots that count, the first to be free first. */
  get slots(): readonly TakenSlot[] {
    this.#freeEnded();
    return takenSlots([...this.#answered, ...this.#unanswered], this.#foreign, this.#clock.now());
  }

  /** Follows a limit that the upstream announces. Leases already held keep counting. */
  follow(limit: number): void {
    if (limit === this.#limiter.limit) return;
    this.#limiter.limit = limit;
    this.#holdBackHalf();
  }

  /** Believes that co-tenants have made `count` more requests, which count for another `ms` milliseconds. */
  addCoTenants(count: number, ms: number): void {
    this.#addForeign({ owner: 'co-tenant', count, until: this.#clock.now() + ms });
  }

  /** The upstream has told how much of the window is spent: then nothing is held back for what is not known. */
  spentIsTold(): void {
    this.#isTold = true;
    this.#holdBackHalf();
  }

  /** Half of the limit is of others as long as it is not known what the process before has spent. */
  #holdBackHalf(): void {
    this.#freeEnded();
    if (this.#unknown) {
      this.#foreign.splice(this.#foreign.indexOf(this.#unknown), 1);
      this.#unknown.taken.release();
    }
    this.#unknown = null;
    const count = Math.floor(this.#limiter.limit / 2);
    const until = this.journal.unknownUntil;
    if (this.#isTold || count === 0 || until <= this.#clock.now()) return;
    this.#unknown = this.#addForeign({ owner: 'replica', count, until });
  }

  #addForeign(foreign: Foreign): Counted<Foreign> {
    const counted = { ...foreign, taken: this.#limiter.take(foreign.count) };
    this.#foreign.push(counted);
    this.#foreign.sort((a, b) => a.until - b.until);
    return counted;
  }

  /**
   * When the slot after `ahead` others will be free, on `clock.now()`, if none is used before `notBefore`: exact for
   * answered leases, a guess from the usual latency for those on the wire.
   */
  availableAt(ahead: number, notBefore: number): number {
    const now = this.#clock.now();
    const { limit, used } = this.view;
    const free = limit - used;
    // Each slot comes back a window after it is used again.
    const rounds = Math.floor(ahead / limit);
    const place = (ahead % limit) - Math.max(0, free);
    // More leases than the limit, after it has shrunk: the first to end free nothing.
    const slot = place < 0 ? now : this.#comesBack(place + Math.max(0, -free), now);
    return Math.max(now, notBefore, slot) + rounds * (this.windowMs + this.#latencyMs);
  }

  #lease(held: Held): Lease {
    const { lengthy } = held;
    const taken = this.#limiter.take();
    const claimedAt = this.#clock.now();
    this.#onWire += 1;
    if (lengthy) this.#lengthyOnWire += 1;
    this.#unanswered.add(held);
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
        this.#freeEnded();
        this.#countable += 1;
        this.#begun += 1;
        countableBefore = this.#countable;
        begunBefore = this.#begun;
        entry = this.journal.begin(lengthy);
      },
      countable: () => countableBefore + this.#begun - begunBefore,
      end: () => {
        answered();
        entry?.ended();
        const now = this.#clock.now();
        held.end = now + this.windowMs;
        if (!lengthy) this.#latencyMs += (now - claimedAt - this.#latencyMs) / 8;
        this.#answered.push(Object.assign(held, { taken }));
      },
      cancel: () => {
        answered();
        entry?.cancelled();
        if (countableBefore > 0) {
          this.#countable -= 1;
          this.#begun -= 1;
        }
        taken.release();
      },
    };
  }

  /** When the `n`th of the slots that count comes back: a guess for those not answered yet. */
  #comesBack(n: number, now: number): number {
    const ends = this.#answered;
    let rest = n;
    let answered = 0;
    for (const { count, until } of this.#foreign) {
      for (; (ends[answered]?.end ?? Number.POSITIVE_INFINITY) <= until; answered += 1, rest -= 1) {
        if (rest === 0) return ends[answered]?.end ?? now;
      }
      if (rest < count) return until;
      rest -= count;
    }
    // No answer that is still to come frees a slot before those that have come.
    return ends[answered + rest]?.end ?? now + this.#latencyMs + this.windowMs;
  }

  /** Frees the slots of all that counts no more. */
  #freeEnded(): void {
    const now = this.#clock.now();
    for (let [first] = this.#answered; first && first.end <= now; [first] = this.#answered) {
      this.#answered.shift();
      this.#countable -= 1;
      first.taken.release();
    }
    for (let [first] = this.#foreign; first && first.until <= now; [first] = this.#foreign) {
      this.#foreign.shift();
      first.taken.release();
      if (first === this.#unknown) this.#unknown = null;
    }
  }
}

/** What has slots of the limiter. */
type Counted<T> = T & { readonly taken: TakenSlots };
