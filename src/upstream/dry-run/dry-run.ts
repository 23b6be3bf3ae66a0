import type { UpstreamName } from '../../errors.ts';
import { inBackground } from '../../scheduling/at-once.ts';
import { nextTurn } from '../../scheduling/loop-turns.ts';
import { StandIns } from './stand-ins.ts';

/** Requests of an operation that the same fields need. */
interface PlannedRequest {
  readonly upstream: UpstreamName;
  /** The kind of resource, as in metrics. */
  readonly resource: string;
  readonly kind: 'read' | 'write';
  readonly calls: number;
  /** The response paths of these fields without indices, such as `channels.nodes.items`; at most five. */
  readonly fields: readonly string[];
}

/** A request, and the fields that need it. */
export type Wanted = Omit<PlannedRequest, 'calls'>;

/** The cost of an operation if it were sent now, as in `extensions.plan`. */
export interface OperationPlan {
  /** Number of upstream requests that would be sent. */
  readonly calls: number;
  /** The same by upstream: each has its own limit. */
  readonly callsByUpstream: Readonly<Record<UpstreamName, number>>;
  readonly saved: {
    /** Number of requests avoided by a cache entry. */
    readonly cache: number;
    /** Number of requests avoided by sharing one in flight. */
    readonly coalesced: number;
  };
  /**
   * False if the cost depends on responses that are not cached; `calls` then assumes as many rows as requested.
   */
  readonly exact: boolean;
  /** False if the operation would exceed its limit: a part of it would be rejected. */
  readonly fits: boolean;
  /** Estimated milliseconds until the first of its requests would be sent; 0 if it sends none, or a slot is free. */
  readonly startsInMs: number;
  /** Its requests by resource and by the fields that need them, the most expensive first; at most 50. */
  readonly requests: readonly PlannedRequest[];
  /** Number of its requests without an entry. */
  readonly more: number;
}

/** A counted read of a dry run. */
interface CountedRead {
  readonly key: string;
  /** See `Read.about`: a placeholder row represents many, each with such a read. */
  readonly about?: number | undefined;
}

/**
 * Counts the upstream requests that one operation would need. Reads requested before the first placeholder is
 * returned do not depend on responses; later ones can, and are an estimate.
 */
export class DryRun {
  readonly standIns = new StandIns();
  readonly rounds = new Rounds();
  /** Number of requests for each read. */
  readonly #calls = new Map<string, number>();
  readonly #callsTo: Record<UpstreamName, number> = { LINKS: 0, MARKET: 0 };
  readonly #hits = new Set<string>();
  readonly #joined = new Set<string>();
  readonly #planned = new PlannedRequests();
  #exact = true;
  #fits = true;
  #unshared = 0;
  /** Scoped tags that the writes of this operation would invalidate. */
  readonly #written = new Set<string>();
  /** The limits of the operation. It has one credential for each upstream. */
  readonly #limits = new Map<UpstreamName, number>();
  /** When the first request to each upstream is sent, in milliseconds. */
  readonly #starts = new Map<UpstreamName, number>();

  /**
   * A cache entry would be used. After a response, what is looked up in it can depend on that response, unless the same
   * walk reads it again (`isAgain`).
   */
  hit(key: string, isAgain = false): void {
    if (this.rounds.hasAnswered && !(isAgain && this.#hits.has(key))) this.guesses();
    this.#hits.add(key);
  }

  /** A request in flight would be shared. */
  joins(key: string): void {
    this.#asked(key);
    this.#joined.add(key);
  }

  /** A request would be sent, once for all its readers, for each of its rows. */
  calls({ key, about }: CountedRead, wanted: Wanted): void {
    const name = this.standIns.nameOf(key, about);
    this.#asked(name);
    this.#count(name, this.standIns.rowsOf(about), wanted);
  }

  /** A write would be sent. It is never shared, and does not depend on other responses. */
  writes(wanted: Wanted): void {
    this.#unshared += 1;
    this.#count(`unshared ${this.#unshared}`, 1, wanted);
  }

  /** A read would be sent that cannot be shared. */
  callsUnshared(wanted: Wanted): void {
    this.#unshared += 1;
    this.calls({ key: `unshared ${this.#unshared}` }, wanted);
  }

  /** Whether a request for this is counted already. */
  counts({ key, about }: CountedRead): boolean {
    return this.#calls.has(this.standIns.nameOf(key, about));
  }

  /** The count depends on responses that are not cached. */
  guesses(): void {
    this.#exact = false;
  }

  /** A write would touch these tags, which are scoped. */
  written(tags: readonly string[]): void {
    for (const tag of tags) this.#written.add(tag);
  }

  /** Whether a write would have touched one of these tags. */
  hasWritten(tags: () => readonly string[]): boolean {
    return this.#written.size > 0 && tags().some((tag) => this.#written.has(tag));
  }

  /** When a request to an upstream would be sent, in milliseconds; looked up for the first one. */
  startsIn(upstream: UpstreamName, estimate: () => number): void {
    if (!this.#starts.has(upstream)) this.#starts.set(upstream, estimate());
  }

  /** Compares the count with the limit of one operation for an upstream: looked up once. */
  checkLimit(upstream: UpstreamName, lookUp: () => number): void {
    const limit = this.#limits.get(upstream) ?? lookUp();
    this.#limits.set(upstream, limit);
    if (this.#callsTo[upstream] <= limit) return;
    // A part of it, or all, would be rejected.
    this.#fits = false;
    this.guesses();
  }

  get plan(): OperationPlan {
    const { LINKS, MARKET } = this.#callsTo;
    return {
      calls: LINKS + MARKET,
      callsByUpstream: { LINKS, MARKET },
      saved: { cache: this.#hits.size, coalesced: this.#joined.size },
      exact: this.#exact,
      fits: this.#fits,
      startsInMs: this.#starts.size === 0 ? 0 : Math.ceil(Math.min(...this.#starts.values())),
      ...this.#planned.told,
    };
  }

  #count(name: string, times: number, wanted: Wanted): void {
    // If several windows share rows, the longest contains all of them.
    const before = this.#calls.get(name) ?? 0;
    const most = Math.max(before, times);
    this.#calls.set(name, most);
    this.#callsTo[wanted.upstream] += most - before;
    this.#planned.note(name, most, wanted);
  }

  #asked(key: string): void {
    const known = this.#calls.has(key) || this.#joined.has(key);
    if (this.rounds.hasAnswered && !known) this.guesses();
  }
}

/** Maximum number of entries in a plan, so that it is small for any operation. */
const MOST_ENTRIES = 50;
/** Maximum number of fields per entry. */
const MOST_FIELDS = 5;

/** The requests that a dry run counts, each with the fields that need it. */
class PlannedRequests {
  readonly #requests = new Map<string, Omit<PlannedRequest, 'fields'> & { fields: Set<string> }>();

  /** Adds this many requests under a name; fields that need it are added. */
  note(name: string, calls: number, { fields, ...kind }: Wanted): void {
    const known = this.#requests.get(name)?.fields ?? new Set();
    for (const field of fields) {
      // The fields of a row need no more than the field that contains the row.
      const isWithin = [...known].some((each) => field.startsWith(`${each}.`));
      if (known.size < MOST_FIELDS && !isWithin) known.add(field);
    }
    this.#requests.set(name, { ...kind, calls, fields: known });
  }

  /** The most expensive entries, and the number of requests in the others. */
  get told(): { readonly requests: readonly PlannedRequest[]; readonly more: number } {
    const groups = new Map<string, PlannedRequest>();
    for (const { fields: wanting, calls, ...kind } of this.#requests.values()) {
      const fields = [...wanting];
      const group = [kind.upstream, kind.kind, kind.resource, ...fields].join(' ');
      const before = groups.get(group)?.calls ?? 0;
      groups.set(group, { ...kind, calls: before + calls, fields });
    }
    const all = [...groups.values()].sort((a, b) => b.calls - a.calls);
    const more = all.slice(MOST_ENTRIES).reduce((sum, { calls }) => sum + calls, 0);
    return { requests: all.slice(0, MOST_ENTRIES), more };
  }
}

/**
 * The order of a dry run: its responses arrive when the operation can request nothing more without them. So a read depends
 * on no response if it is requested before the first of them.
 */
class Rounds {
  /** Those that wait for the end of this round. */
  #waiting: (() => void)[] = [];
  /** Whether a response has arrived: later reads can depend on it. */
  hasAnswered = false;

  /** Resolves when the response to a request arrives. */
  response(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) inBackground(this.#play());
    });
  }

  /** Ends the round when nothing was requested for a turn. */
  async #play(): Promise<void> {
    for (let before = -1; before !== this.#waiting.length; ) {
      before = this.#waiting.length;
      await nextTurn();
    }
    this.hasAnswered = true;
    const arrived = this.#waiting;
    this.#waiting = [];
    for (const arrive of arrived) arrive();
  }
}
