import type { Clock } from '../clock.ts';
import { RedisUnavailable } from './failures.ts';
import { scripts } from './lua/scripts.ts';
import type { Replica } from './replica.ts';
import type { Script } from './script.ts';
import { holdMs, type ProtocolTimes } from './times.ts';

/** A request that wants a slot, as other replicas see it. */
export interface Want {
  /** Names the permit that it may get. */
  readonly id: string;
  readonly lane: 'write' | 'interactive' | 'refresh';
  /** A name that does not tell who it is. */
  readonly caller: string;
  /** Names a read that is shared. */
  readonly key?: string;
  readonly tags: readonly string[];
  /** A shared answer younger than this will do, in milliseconds... */
  readonly ttl: number;
  /** ... if it was asked for after this, on the shared clock. */
  readonly newer: number;
  readonly lengthy?: boolean;
  /** It does not wait for the answers of others where that is mere caution. */
  readonly rush?: boolean;
}

/** How many wait, by lane and caller. */
export interface Waits {
  readonly w: Readonly<Record<string, number>>;
  readonly i: Readonly<Record<string, number>>;
  readonly r: number;
  /** Age of the oldest answer that is to be refreshed, in milliseconds. */
  readonly oldest: number;
}

/** A key's budget over all replicas as last heard of. Times are milliseconds from `heardAt`. */
export interface SharedView {
  /** On `clock.now()`. */
  readonly heardAt: number;
  readonly limit: number;
  /** Permits that are out, without the lengthy ones. */
  readonly wire: number;
  /** When each slot that counts comes back, soonest first. */
  readonly times: readonly number[];
  /** Whose each of them is: see `untils` in lua/budget.ts. */
  readonly who: string;
  /** What waits on other replicas, `by` which one. */
  readonly bids: readonly (Omit<Waits, 'oldest'> & { readonly by: string })[];
  /** How long ago each other replica sent last, in milliseconds, of those whose requests count. */
  readonly sent: Readonly<Record<string, number>>;
  /** Slots kept for replicas that ended without a word and may only be stopped, and until the last comes back. */
  readonly ghosts: number;
  readonly ghostsMs: number;
  readonly pausedMs: number;
  readonly latencyMs: number;
  /** How many may be on the wire now; at most half of what is left while a co-tenant is about. */
  readonly abreast: number;
  readonly most: number;
  readonly about: boolean;
}

/** What came of one want: a permit, the answer of another replica, or nothing yet. */
export type SharedVerdict = 'go' | 'join' | 'landed' | '';

/** What came of a claim. */
export interface SharedClaim {
  readonly epoch: string;
  /** When the permits were given, on the shared clock. */
  readonly sharedAt: number;
  /** For each want. */
  readonly verdicts: readonly SharedVerdict[];
  /** After how many milliseconds to ask again for the others. */
  readonly stopMs: number;
  readonly why: string;
  /** The latest write that was known then, counted in the epoch. */
  readonly asOf: number;
}

/** How a request ended that had a permit. */
export interface Ended {
  readonly epoch: string;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly reset: number | null;
  readonly refused: boolean;
  readonly retry: number | null;
  readonly key?: string;
  /** Whether its answer is in Redis. */
  readonly kept: boolean;
  readonly code?: string;
  /** It was a write that has changed nothing. */
  readonly withdraw?: boolean;
}

interface SharedLedgerOptions {
  readonly replica: Replica;
  readonly clock: Clock;
  readonly times: ProtocolTimes;
  /** Of the key's budget, in Redis. */
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly timeoutMs: number;
  /** Told of every view that is taken in. */
  readonly heard: (before: SharedView, after: SharedView) => void;
}

/** The ledger of one key, which all replicas share. Each of its methods is one command. */
export class SharedLedger {
  readonly windowMs: number;
  /** For how long nothing is sent when Redis has lost its memory, in milliseconds. */
  readonly holdMs: number;
  readonly name: string;
  readonly #options: SharedLedgerOptions;
  readonly #cfg: string;
  #view: SharedView;

  constructor(options: SharedLedgerOptions) {
    const { clock, limit, name, times, timeoutMs, windowMs } = options;
    this.#options = options;
    this.name = name;
    this.windowMs = windowMs;
    this.holdMs = holdMs(times, options);
    this.#cfg = JSON.stringify({
      limit,
      window: windowMs,
      margin: times.marginMs,
      hold: this.holdMs,
      // When the intent of a write whose replica was not heard of any more counts as the write.
      intent: times.sendByMs + timeoutMs + times.marginMs,
    });
    this.#view = blankView(clock.now(), limit);
  }

  /** What scripts have to know of the budget. */
  get cfg(): object {
    return JSON.parse(this.#cfg);
  }

  get view(): SharedView {
    return this.#view;
  }

  /** Takes in what a script has said of the budget. */
  look(json: unknown, heardAt: number): void {
    if (heardAt < this.#view.heardAt) return;
    const before = this.#view;
    this.#view = readView(json, heardAt) ?? before;
    if (this.#view !== before) this.#options.heard(before, this.#view);
  }

  /**
   * Claims permits. Rejects with `RedisUnavailable`, whose `doubtful` says that they may have been given, or
   * with `RedisRefused`.
   */
  async claim(wants: readonly Want[], waits: Waits): Promise<SharedClaim> {
    const { replica } = this.#options;
    const args = [this.name, this.#cfg, JSON.stringify(wants), JSON.stringify(waits)];
    const { epoch, now, rest, sentAt } = await replica.call(scripts.claim, args);
    const [verdicts, stop, why, asOf, view] = rest;
    this.look(view, sentAt);
    return {
      epoch,
      sharedAt: now,
      verdicts: Array.isArray(verdicts) ? (verdicts as SharedVerdict[]) : [],
      stopMs: Number(stop),
      why: String(why),
      asOf: Number(asOf),
    };
  }

  /** Gives a permit back that was not used, or may not even have been given. */
  async giveBack(id: string): Promise<void> {
    await this.#tell(scripts.ended, () => JSON.stringify({ id, sent: false, kept: false }));
  }

  /** A request has ended just now. What goes wrong is tried again for as long as it matters. */
  async ended(id: string, ended: Ended): Promise<void> {
    const { clock } = this.#options;
    const at = clock.now();
    await this.#tell(scripts.ended, () => {
      const told = { ...ended, id, sent: true, ago: Math.round(clock.now() - at) };
      return JSON.stringify(told, (_, value: unknown) => (value === null ? undefined : value));
    });
  }

  /** A lengthy request is still under way. */
  async renew(id: string): Promise<void> {
    await this.#tell(scripts.renew, () => id);
  }

  async #tell(script: Script, last: () => string): Promise<void> {
    const { clock, replica, times } = this.#options;
    // Then every permit that was given before has run out by itself.
    const until = clock.now() + 2 * this.holdMs;
    while (clock.now() < until) {
      try {
        const { rest, sentAt } = await replica.call(script, [this.name, this.#cfg, last()]);
        this.look(rest[0], sentAt);
        return;
      } catch (error) {
        const waitMs = error instanceof RedisUnavailable ? times.beatMs : times.leaseMs;
        await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
      }
    }
  }
}

/** What another replica waits for; whatever else stands there is nothing. */
function readBid(value: unknown): SharedView['bids'][number] {
  const members: Record<string, unknown> =
    typeof value === 'object' && value !== null ? { ...value } : {};
  const { by, i, r, w } = members;
  return { by: typeof by === 'string' ? by : '', w: counts(w), i: counts(i), r: Number(r) || 0 };
}

function counts(of: unknown): Record<string, number> {
  const entries = typeof of === 'object' && of !== null ? Object.entries(of) : [];
  return Object.fromEntries(entries.filter(([, count]) => Number.isSafeInteger(count)));
}

function blankView(heardAt: number, limit: number): SharedView {
  return {
    heardAt,
    limit,
    wire: 0,
    times: [],
    who: '',
    bids: [],
    sent: {},
    ghosts: 0,
    ghostsMs: 0,
    pausedMs: 0,
    latencyMs: 200,
    abreast: 1,
    most: 1,
    about: false,
  };
}

function readView(json: unknown, heardAt: number): SharedView | null {
  let members: Record<string, unknown>;
  try {
    const value: unknown = JSON.parse(String(json));
    members = typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return null;
  }
  const number = (name: string): number => {
    const value = Number(members[name]);
    return Number.isFinite(value) ? value : 0;
  };
  const list = (name: string): unknown[] => {
    const value = members[name];
    return Array.isArray(value) ? value : [];
  };
  return {
    heardAt,
    limit: Math.max(1, number('limit')),
    wire: number('wire'),
    times: list('times').map(Number),
    who: typeof members['who'] === 'string' ? members['who'] : '',
    bids: list('bids').map(readBid),
    sent: counts(members['sent']),
    ghosts: number('ghosts'),
    ghostsMs: number('ghostsMs'),
    pausedMs: number('pausedMs'),
    latencyMs: number('latencyMs'),
    abreast: number('abreast'),
    most: number('most'),
    about: members['about'] === true,
  };
}
