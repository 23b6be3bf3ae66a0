import type { Clock } from '../clock.ts';
import {
  ageEvent,
  heartbeat,
  type LiveMode,
  type LiveTimes,
  patchEvent,
  wholeEvent,
} from './events.ts';
import { type ResultDocument, Revisions } from './revisions.ts';
import type { RunPace } from './run-pace.ts';
import type { LiveStream, StreamSource } from './stream.ts';
import { WatchedReads } from './watched-reads.ts';

/** What a run of a query came to. */
export interface RunResult {
  readonly document: ResultDocument;
  /** What it has cost, as `extensions.upstream`. */
  readonly upstream: object;
  /** Present where the same may come out better then, in milliseconds: an upstream or its budget had nothing. */
  readonly retryAfterMs?: number;
  /** Present where nothing more can come of it: its key was refused. */
  readonly refused?: true;
}

/** What a run has to know. */
interface RunTerms {
  /** Whether somebody looks at nothing until it has ended: whoever has an older result can wait for long. */
  readonly isFirst: boolean;
  readonly signal: AbortSignal;
}

/** Runs a query once; its reads go through `reads`. Never rejects. */
export type LiveRun = (reads: WatchedReads, terms: RunTerms) => Promise<RunResult>;

interface LiveGroupOptions {
  readonly clock: Clock;
  /** Names all that the result depends on, and this process. */
  readonly id: string;
  readonly run: LiveRun;
  readonly throttleMs: number;
  readonly pace: RunPace;
  /** Told of every run. */
  readonly onRun: () => void;
  /** The key was refused, and all members have to end with these errors. */
  readonly onRefused: (errors: readonly object[]) => void;
  /** Nobody has been here for a while. */
  readonly onDeserted: () => void;
}

/** So long a query is watched after its last viewer has gone, in milliseconds: a page that is loaded again is back by then. */
const GRACE_MS = 5000;
/** A run that brought errors is tried again after so long, doubled for each time in a row. */
const FIRST_RETRY_MS = 2000;
const LONGEST_RETRY_MS = 60_000;
/** For so long an event is as true as when it was made. */
const SAME_MOMENT_MS = 100;
/** Members that are told of something in one turn of the event loop. */
const AT_A_TIME = 200;

/** All who look at one query with the same variables, rights and key: it is run once for all of them. */
export class LiveGroup implements StreamSource {
  readonly #options: LiveGroupOptions;
  readonly #members = new Set<LiveStream>();
  readonly #revisions = new Revisions();
  readonly #reads: WatchedReads;
  readonly #abort = new AbortController();
  #upstream: object = {};
  #state: 'current' | 'due' | 'running' | 'ended' = 'due';
  /** Writes that have made something of it wrong. */
  #writes = 0;
  /** How many of them the latest result shows for certain. */
  #shows = 0;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #cancelRetry = (): void => {};
  #cancelGrace = (): void => {};
  #isWaiting = false;
  /** What members get next, by the revision that they have: made once for all who come for it together. */
  readonly #events = new Map<string, { readonly event: Buffer; readonly at: number }>();

  constructor(options: LiveGroupOptions) {
    this.#options = options;
    this.#reads = new WatchedReads((change) => {
      if (change === 'touched') this.#writes += 1;
      this.#changed();
    });
    this.#schedule();
  }

  /** Memory that is taken, about, in bytes. */
  get bytes(): number {
    return this.#revisions.bytes;
  }

  get members(): ReadonlySet<LiveStream> {
    return this.#members;
  }

  /** Cache entries that are watched. */
  get watched(): number {
    return this.#reads.size;
  }

  /** The revision of an event id, if it is one of this group. */
  revisionOf(eventId: string): number | null {
    const { id } = this.#options;
    if (!eventId.startsWith(`${id}.`)) return null;
    const revision = Number(eventId.slice(id.length + 1));
    const latest = this.#revisions.latest?.number ?? 0;
    return Number.isInteger(revision) && revision > 0 && revision <= latest ? revision : null;
  }

  /** A viewer comes, who must not be shown less than the writes that were answered before. */
  join(stream: LiveStream): void {
    this.#cancelGrace();
    this.#members.add(stream);
    stream.wantsWrites = this.#writes;
    stream.connect(this);
  }

  left(stream: LiveStream): void {
    this.#members.delete(stream);
    if (this.#members.size > 0 || this.#state === 'ended') return;
    this.#cancelGrace = this.#options.clock.after(GRACE_MS, () => {
      this.end();
      this.#options.onDeserted();
    });
  }

  nextFor(stream: LiveStream): { event: Buffer; revision: number } | null {
    const { events, mode, revision, wantsWrites } = stream;
    const { latest } = this.#revisions;
    // Else the run that follows from the write is waited for.
    if (!latest || this.#shows < wantsWrites) return null;
    const { number } = latest;
    if (revision !== number) return { event: this.#eventFrom(mode, revision), revision: number };
    // One that was here before is told at once that all is as it was.
    return events > 0 ? null : { event: this.reminder(mode), revision };
  }

  /** What a member is told when there is nothing new. */
  reminder(mode: LiveMode): Buffer {
    if (mode === 'whole' || !this.#revisions.latest) return heartbeat;
    return this.#once('age', () => ageEvent(this.#times));
  }

  /** Something may be gone without anybody having changed it, such as an entry for want of memory. */
  lookAgain(): void {
    this.#reads.use();
    if (this.#state === 'current' && this.#reads.isOutdated) this.#changed();
  }

  /** Lets go of everything. Members are for the caller to end. */
  end(): void {
    this.#state = 'ended';
    this.#abort.abort();
    this.#cancelRetry();
    this.#cancelGrace();
    this.#reads.end();
  }

  get #eventId(): string {
    return `${this.#options.id}.${this.#revisions.latest?.number ?? 0}`;
  }

  get #times(): LiveTimes {
    const now = this.#options.clock.now();
    const { at, nextRefreshInMs } = this.#reads.oldest(now);
    return {
      revision: this.#revisions.latest?.number ?? 0,
      ageMs: Math.round(now - at),
      nextRefreshInMs: nextRefreshInMs === null ? null : Math.round(nextRefreshInMs),
    };
  }

  #eventFrom(mode: LiveMode, revision: number | null): Buffer {
    const patch = mode === 'patch' && revision !== null && this.#patchFrom(revision);
    if (patch) return patch;
    return this.#once('whole', () =>
      wholeEvent(this.#eventId, this.#revisions.latest?.document ?? '', {
        live: this.#times,
        upstream: this.#upstream,
      }),
    );
  }

  #patchFrom(revision: number): Buffer | null {
    const patch = this.#revisions.patchSince(revision);
    if (patch === null) return null;
    return this.#once(`${revision}`, () => patchEvent(this.#eventId, patch, revision, this.#times));
  }

  /** An event as it was made a moment ago, or anew. */
  #once(name: string, make: () => Buffer): Buffer {
    const now = this.#options.clock.now();
    const known = this.#events.get(name);
    if (known && now - known.at < SAME_MOMENT_MS) return known.event;
    const event = make();
    this.#events.set(name, { event, at: now });
    return event;
  }

  #changed(): void {
    if (this.#state !== 'current') return;
    this.#state = 'due';
    this.#schedule();
  }

  /** Sees to a run, in the next turn or once the last change is long enough ago. */
  #schedule(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const { clock, pace, throttleMs } = this.#options;
    const begin = (): void =>
      pace.begin(() => {
        this.#isWaiting = false;
        void this.#run();
      });
    const restMs = this.#publishedAt + throttleMs - clock.now();
    if (restMs > 0) clock.after(restMs, begin);
    else setImmediate(begin);
  }

  async #run(): Promise<void> {
    if (this.#state !== 'due') return;
    this.#state = 'running';
    this.#cancelRetry();
    const { onRefused, onRun, run } = this.#options;
    onRun();
    this.#reads.beginRun();
    const shows = this.#writes;
    const result = await run(this.#reads, {
      isFirst: this.#revisions.latest === null,
      signal: this.#abort.signal,
    });
    if (this.#hasEnded) {
      // What was still read after the end is not to be watched for ever.
      this.#reads.end();
      return;
    }
    const isOutdated = this.#reads.endRun();
    if (result.refused) {
      onRefused(result.document.errors ?? []);
      return;
    }
    this.#shows = shows;
    this.#options.pace.do(() => this.#publish(result));
    this.#retryLater(result);
    if (!isOutdated) return;
    this.#state = 'due';
    this.#schedule();
  }

  get #hasEnded(): boolean {
    return this.#state === 'ended';
  }

  #publish({ document, upstream }: RunResult): void {
    this.#upstream = upstream;
    this.#state = 'current';
    this.#revisions.add(document);
    this.#events.clear();
    this.#publishedAt = this.#options.clock.now();
    this.#tell([...this.#members]);
  }

  /** Tells members of the latest, a part of them in each turn of the event loop: there can be thousands. */
  #tell(members: readonly LiveStream[]): void {
    if (this.#state === 'ended') return;
    for (const member of members.slice(0, AT_A_TIME)) {
      if (member.revision !== this.#revisions.latest?.number || member.events === 0) member.look();
      else if (member.mode === 'patch') member.mention(this.reminder('patch'));
    }
    const rest = members.slice(AT_A_TIME);
    if (rest.length > 0) setImmediate(() => this.#tell(rest));
  }

  #retryLater({ retryAfterMs }: RunResult): void {
    if (retryAfterMs === undefined) {
      this.#failures = 0;
      return;
    }
    const backOffMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#cancelRetry = this.#options.clock.after(Math.max(backOffMs, retryAfterMs), () =>
      this.#changed(),
    );
  }
}
