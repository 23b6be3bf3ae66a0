import type { UpstreamName } from '../../errors.ts';
import { StandIns } from './stand-ins.ts';

/** What an operation would cost if it were sent now, as `extensions.plan` tells it. */
export interface OperationPlan {
  /** Requests that would leave the gateway. */
  readonly calls: number;
  /** The same by upstream: each has a limit of its own. */
  readonly callsByUpstream: Readonly<Record<UpstreamName, number>>;
  readonly saved: {
    /** Requests not needed, since a cache entry would serve. */
    readonly cache: number;
    /** Requests not needed, since one in flight would serve. */
    readonly coalesced: number;
  };
  /**
   * False when it depends on answers that are not known yet; `calls` is then what it costs if as many rows
   * come as are asked for.
   */
  readonly exact: boolean;
  /** False when that is more than one operation may spend: some of it would be refused. */
  readonly fits: boolean;
}

/** A read as a dry run counts it. */
interface CountedRead {
  readonly key: string;
  /** See `Read.about`: a made-up row stands for many, each of which has such a read. */
  readonly about?: number | undefined;
}

/**
 * Counts what one operation would have to ask of the upstreams. What it asks for before any stand-in for an
 * answer is given out, it asks for whatever the answers are; what it asks for anew from then on can
 * depend on them, and is a guess.
 */
export class DryRun {
  readonly standIns = new StandIns();
  /** How often each read would be made. */
  readonly #calls = new Map<string, number>();
  readonly #callsTo: Record<UpstreamName, number> = { LINKS: 0, MARKET: 0 };
  readonly #hits = new Set<string>();
  readonly #joined = new Set<string>();
  #exact = true;
  #fits = true;
  #unshared = 0;
  #answering = false;
  readonly #looking = new Set<Promise<void>>();

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

  /** A request would leave, once however often its answer is needed, for each row that it is about. */
  calls(upstream: UpstreamName, { key, about }: CountedRead): void {
    const name = this.standIns.nameOf(key, about);
    this.#asked(name);
    this.#count(upstream, name, this.standIns.rowsOf(about));
  }

  /** A write would leave, which is shared with no other. Whatever other answers are, it is made. */
  writes(upstream: UpstreamName): void {
    this.#unshared += 1;
    this.#count(upstream, `unshared ${this.#unshared}`, 1);
  }

  /** A read would leave that can be shared with no other. */
  callsUnshared(upstream: UpstreamName): void {
    this.#unshared += 1;
    this.calls(upstream, { key: `unshared ${this.#unshared}` });
  }

  /** Whether a request for this is counted already. */
  counts({ key, about }: CountedRead): boolean {
    return this.#calls.has(this.standIns.nameOf(key, about));
  }

  /** What is counted depends on answers that are not known. */
  guesses(): void {
    this.#exact = false;
  }

  /** Compares what is counted with what one operation may ask of an upstream. */
  checkLimit(upstream: UpstreamName, limit: number): void {
    if (this.#callsTo[upstream] <= limit) return;
    // It is refused, for all of it or for some.
    this.#fits = false;
    this.guesses();
  }

  /** What other replicas have is looked up, which can take longer than a turn. */
  async looks(work: Promise<void>): Promise<void> {
    this.#looking.add(work);
    try {
      await work;
    } finally {
      this.#looking.delete(work);
    }
  }

  /** Resolves when all is asked for that needs no further answer: then stand-ins are given out. */
  async answers(): Promise<void> {
    // What is known leads on within one turn of the event loop.
    do {
      await Promise.all(this.#looking);
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    } while (this.#looking.size > 0);
    this.#answering = true;
  }

  get plan(): OperationPlan {
    const { LINKS, MARKET } = this.#callsTo;
    return {
      calls: LINKS + MARKET,
      callsByUpstream: { LINKS, MARKET },
      saved: { cache: this.#hits.size, coalesced: this.#joined.size },
      exact: this.#exact,
      fits: this.#fits,
    };
  }

  #count(upstream: UpstreamName, name: string, times: number): void {
    // Of rows that several windows show, those of the longest are all there are.
    const before = this.#calls.get(name) ?? 0;
    if (times <= before) return;
    this.#calls.set(name, times);
    this.#callsTo[upstream] += times - before;
  }

  #asked(key: string): void {
    const known = this.#calls.has(key) || this.#hits.has(key) || this.#joined.has(key);
    if (this.#answering && !known) this.guesses();
  }
}
