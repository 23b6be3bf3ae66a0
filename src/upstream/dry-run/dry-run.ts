import type { UpstreamName } from '../../errors.ts';
import type { QueueForecast } from '../budget/queue-forecast.ts';
import { StandIns } from './stand-ins.ts';
import { Timeline } from './timeline.ts';

/** Requests of an operation that are wanted by the same fields. */
interface PlannedRequest {
  readonly upstream: UpstreamName;
  /** The kind of resource, as in metrics. */
  readonly resource: string;
  readonly kind: 'read' | 'write';
  readonly calls: number;
  /** The response paths of these fields without indices, such as `channels.nodes.items`; at most five. */
  readonly fields: readonly string[];
}

/** What a request is, and which fields want it. */
export type Wanted = Omit<PlannedRequest, 'calls'>;

/** The cost of an operation if it were sent now, as in `extensions.plan`. */
export interface OperationPlan {
  /** Requests that would leave the gateway. */
  readonly calls: number;
  /** The same by upstream: each has its own limit. */
  readonly callsByUpstream: Readonly<Record<UpstreamName, number>>;
  readonly saved: {
    /** Requests not needed, since a cache entry would serve. */
    readonly cache: number;
    /** Requests not needed, since one in flight would serve. */
    readonly coalesced: number;
  };
  /**
   * False if the cost depends on responses that are not cached; `calls` then assumes as many rows as requested.
   */
  readonly exact: boolean;
  /** False when that is more than one operation may spend: some of it would be refused. */
  readonly fits: boolean;
  /** Milliseconds until the first of its requests would be sent; 0 if it sends none, or a slot is free. */
  readonly startsInMs: number;
  /**
   * Milliseconds until its last response would arrive: it includes waits for slots and for responses that lead to
   * further requests, with recent response times. It assumes no other requests.
   */
  readonly readyInMs: number;
  /** Its requests by what they are and by the fields that want them, the most expensive first; at most 50. */
  readonly requests: readonly PlannedRequest[];
  /** How many of its requests are in no entry. */
  readonly more: number;
}

/** A read as a dry run counts it. */
interface CountedRead {
  readonly key: string;
  /** See `Read.about`: a placeholder row represents many, each with such a read. */
  readonly about?: number | undefined;
}

/** A request as a dry run counts it. */
interface Counted {
  /** Under which name. */
  readonly name: string;
  /** How many of that name were not counted before. */
  readonly requests: number;
}

/**
 * Counts the upstream requests that one operation would need. Reads requested before the first placeholder is
 * returned do not depend on responses; later ones can, and are an estimate.
 */
export class DryRun {
  readonly standIns = new StandIns();
  readonly timeline = new Timeline();
  /** How often each read would be made. */
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
  /** What an operation may spend. An operation has one credential for each upstream. */
  readonly #limits = new Map<UpstreamName, number>();
  /** The simulated queues of its keys. */
  readonly #queues = new Map<UpstreamName, QueueForecast>();
  /** When what is waited for is there, by name. */
  readonly #arrivals = new Map<string, Promise<unknown>>();

  /** A cache entry would serve. */
  hit(key: string): void {
    this.#asked(key);
    this.#hits.add(key);
  }

  /** A request in flight would serve. */
  joins(key: string): void {
    this.#asked(key);
    this.#joined.add(key);
  }

  /** A request would be sent, once for all its readers, for each row that it is about. */
  calls({ key, about }: CountedRead, wanted: Wanted): Counted {
    const name = this.standIns.nameOf(key, about);
    this.#asked(name);
    return this.#count(name, this.standIns.rowsOf(about), wanted);
  }

  /** A write would be sent. It is never shared, and does not depend on other responses. */
  writes(wanted: Wanted): Counted {
    this.#unshared += 1;
    return this.#count(`unshared ${this.#unshared}`, 1, wanted);
  }

  /** A read would leave that can be shared with no other. */
  callsUnshared(wanted: Wanted): Counted {
    this.#unshared += 1;
    return this.calls({ key: `unshared ${this.#unshared}` }, wanted);
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

  /** Waits for what was waited for before by this name, or for something new, such as `isMore` of the same. */
  arrival(name: string, wait: () => Promise<unknown>, isMore = false): Promise<unknown> {
    const known = isMore ? undefined : this.#arrivals.get(name);
    if (known) return this.timeline.again(known);
    const arrival = wait();
    this.#arrivals.set(name, arrival);
    return arrival;
  }

  /** The queue in which requests to an upstream wait: as `forecast` has it at first. */
  queueOf(upstream: UpstreamName, forecast: () => QueueForecast): QueueForecast {
    const queue = this.#queues.get(upstream) ?? forecast();
    this.#queues.set(upstream, queue);
    return queue;
  }

  /** Compares the count with the limit of one operation for an upstream: looked up once. */
  checkLimit(upstream: UpstreamName, lookUp: () => number): void {
    const limit = this.#limits.get(upstream) ?? lookUp();
    this.#limits.set(upstream, limit);
    if (this.#callsTo[upstream] <= limit) return;
    // It is refused, for all of it or for some.
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
      startsInMs: this.timeline.startsInMs,
      readyInMs: this.timeline.readyInMs,
      ...this.#planned.told,
    };
  }

  #count(name: string, times: number, wanted: Wanted): Counted {
    // Of rows that several windows show, those of the longest are all there are.
    const before = this.#calls.get(name) ?? 0;
    const most = Math.max(before, times);
    this.#calls.set(name, most);
    this.#callsTo[wanted.upstream] += most - before;
    this.#planned.note(name, most, wanted);
    return { name, requests: most - before };
  }

  #asked(key: string): void {
    const known = this.#calls.has(key) || this.#hits.has(key) || this.#joined.has(key);
    if (this.timeline.hasAnswered && !known) this.guesses();
  }
}

/** Entries listed in a plan, so that it is small for any operation. */
const MOST_ENTRIES = 50;
/** Fields listed for each. */
const MOST_FIELDS = 5;

/** The requests that a dry run counts, each with the fields that want it. */
class PlannedRequests {
  readonly #requests = new Map<string, Omit<PlannedRequest, 'fields'> & { fields: Set<string> }>();

  /** Adds this many requests under a name; fields that need it are added. */
  note(name: string, calls: number, { fields, ...kind }: Wanted): void {
    const known = this.#requests.get(name)?.fields ?? new Set();
    for (const field of fields) {
      // What shows a row wants no more than the field that the row is of.
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
