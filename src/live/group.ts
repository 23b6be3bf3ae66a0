import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { inNextTurn, loopTurns } from '../scheduling/loop-turns.ts';
import {
  ageEvent,
  heartbeat,
  type LiveMode,
  type LiveTimes,
  patchEvent,
  RecentEvents,
  wholeEvent,
} from './events.ts';
import { type LiveRun, RunAgain, type RunResult } from './live-run.ts';
import { Revisions } from './revisions.ts';
import type { QueryRoom } from './room.ts';
import type { PacedRun, RunPace } from './run-pace.ts';
import type { LiveStream, StreamSource } from './stream.ts';
import { WatchedReads } from './watched-reads.ts';

interface LiveGroupOptions {
  readonly clock: Clock;
  /** Names all that the result depends on, and this process. */
  readonly id: string;
  readonly run: LiveRun;
  readonly throttleMs: number;
  readonly pace: RunPace;
  /** Counts its resources. */
  readonly room: QueryRoom;
  /** Called with every run. */
  readonly onRun: () => void;
  /** The key was refused, and all members have to end with these errors. */
  readonly onRefused: (errors: readonly object[]) => void;
  /** It takes more than there is for the caller that it counts for, and all members have to go. */
  readonly onTooMuch: () => void;
  /** There has been no member for a while. */
  readonly onDeserted: () => void;
}

/** How long a query is watched after its last viewer has gone, in milliseconds: a page that is loaded again is back by then. */
const GRACE_MS = 5000;
/** Members that are shown a result in one turn of the event loop: there can be thousands. */
const AT_A_TIME = 200;

/** All viewers of one query with the same variables, permissions and key: it is executed once for all of them. */
export class LiveGroup implements StreamSource {
  readonly #options: LiveGroupOptions;
  readonly #members = new Set<LiveStream>();
  readonly #revisions = new Revisions();
  readonly #reads: WatchedReads;
  readonly #abort = new AbortController();
  readonly #paced: PacedRun;
  readonly #again: RunAgain;
  #upstream: object = {};
  #state: 'current' | 'due' | 'running' | 'ended' = 'due';
  /** Writes that have made something of it wrong. */
  #writes = 0;
  /** How many of them the latest result shows for certain. */
  #shows = 0;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #cancelGrace = (): void => {};
  #isWaiting = false;
  /** Whether it waits for a turn. */
  #isQueued = false;
  /** What members get next, by the revision that they have. */
  readonly #events: RecentEvents;

  constructor(options: LiveGroupOptions) {
    this.#options = options;
    this.#events = new RecentEvents(options.clock);
    const callers = (): Iterable<string> => options.room.callers;
    const { clock } = options;
    this.#reads = new WatchedReads({ clock, watchers: callers }, (change) => {
      if (change === 'touched') this.#writes += 1;
      if (change === 'grown') this.#settle();
      else this.#changed();
    });
    this.#again = new RunAgain(clock, () => this.#changed());
    this.#paced = {
      callers,
      isFirst: () => this.#revisions.latest === null,
      work: () => this.#run(),
    };
    this.#schedule();
  }

  get members(): ReadonlySet<LiveStream> {
    return this.#members;
  }

  /** The revision of an event id, if it is one of this group. */
  revisionOf(eventId: string): number | null {
    const { id } = this.#options;
    if (!eventId.startsWith(`${id}.`)) return null;
    const revision = Number(eventId.slice(id.length + 1));
    const latest = this.#revisions.latest?.number ?? 0;
    return Number.isInteger(revision) && revision > 0 && revision <= latest ? revision : null;
  }

  /** A new viewer, who must not be shown a state before earlier confirmed writes. */
  join(stream: LiveStream): void {
    this.#cancelGrace();
    this.#members.add(stream);
    this.#options.room.join(stream.caller);
    // One that waits for its turn may go sooner now.
    if (this.#isQueued) this.#options.pace.begin(this.#paced);
    stream.wantsWrites = this.#writes;
    if (stream.mode === 'patch') this.#revisions.makesPatches = true;
    stream.connect(this);
  }

  left(stream: LiveStream): void {
    if (!this.#members.delete(stream)) return;
    this.#options.room.leave(stream.caller);
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
    // One that was here before learns at once that all is as it was.
    return events > 0 ? null : { event: this.reminder(mode), revision };
  }

  /** What a member gets when there is nothing new. */
  reminder(mode: LiveMode): Buffer {
    if (mode === 'whole' || !this.#revisions.latest) return heartbeat;
    return this.#events.once('age', () => ageEvent(this.#times));
  }

  /** An entry may have been removed without a change, to free memory. */
  lookAgain(): void {
    this.#reads.use();
    if (this.#state === 'current' && this.#reads.isOutdated) this.#changed();
  }

  /** A budget may be another than the one that it shows. */
  lookAtBudgets(): void {
    if (this.#state !== 'current') return;
    this.#again.forBudgets(() => this.#reads.budgets.haveChanged());
  }

  /** Lets go of everything. Members are for the caller to end. */
  end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#abort.abort();
    this.#again.cancel();
    this.#cancelGrace();
    this.#reads.end();
    this.#options.pace.cancel(this.#paced);
    this.#options.room.close();
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
    return this.#events.once('whole', () =>
      wholeEvent(this.#eventId, this.#revisions.latest?.document ?? '', {
        live: this.#times,
        upstream: this.#upstream,
      }),
    );
  }

  #patchFrom(revision: number): Buffer | null {
    const patch = this.#revisions.patchSince(revision);
    if (patch === null) return null;
    return this.#events.once(`${revision}`, () =>
      patchEvent(this.#eventId, patch, revision, this.#times),
    );
  }

  #changed(): void {
    if (this.#state !== 'current') return;
    this.#state = 'due';
    this.#schedule();
  }

  /** Schedules a run, in the next turn or once the last change is long enough ago. */
  #schedule(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const { clock, pace, throttleMs } = this.#options;
    const begin = (): void => {
      if (this.#hasEnded) return;
      this.#isQueued = true;
      pace.begin(this.#paced);
    };
    const restMs = this.#publishedAt + throttleMs - clock.now();
    if (restMs > 0) clock.after(restMs, begin);
    else inNextTurn(begin);
  }

  async #run(): Promise<void> {
    this.#isWaiting = false;
    this.#isQueued = false;
    if (this.#state !== 'due') return;
    if (!this.#options.room.mayStay()) {
      this.#options.onTooMuch();
      return;
    }
    this.#state = 'running';
    this.#again.cancel();
    const { onRefused, onRun, run } = this.#options;
    onRun();
    this.#reads.beginRun();
    const shows = this.#writes;
    const result = await run(this.#reads, {
      isFirst: this.#revisions.latest === null,
      signal: this.#abort.signal,
    });
    await this.#options.pace.turn();
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
    const isHeld = this.#options.pace.do(this.#paced, () => this.#publish(result));
    if (!isHeld) return;
    this.#again.after(result);
    if (!isOutdated) return;
    this.#state = 'due';
    this.#schedule();
  }

  get #hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** Sends a result to all members. False if there is no memory for it. */
  #publish({ document, upstream }: RunResult): boolean {
    this.#upstream = upstream;
    this.#state = 'current';
    this.#revisions.add(document);
    this.#events.forget();
    if (!this.#settle()) return false;
    this.#publishedAt = this.#options.clock.now();
    inBackground(loopTurns.each([...this.#members], AT_A_TIME, (member) => this.#show(member)));
    return true;
  }

  /** Counts its current resources. False if they exceed the limit, and it has ended. */
  #settle(): boolean {
    const { onTooMuch, room } = this.#options;
    if (this.#hasEnded) return false;
    const bytes = this.#revisions.latest ? this.#revisions.bytes : null;
    if (room.hold(bytes, this.#reads.size)) return true;
    onTooMuch();
    return false;
  }

  /** Shows a member the latest. */
  #show(member: LiveStream): void {
    if (this.#state === 'ended') return;
    if (member.revision !== this.#revisions.latest?.number || member.events === 0) member.look();
    else if (member.mode === 'patch') member.mention(this.reminder('patch'));
  }
}
