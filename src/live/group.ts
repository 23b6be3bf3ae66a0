import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { inNextTurn, loopTurns } from '../scheduling/loop-turns.ts';
import { ageEvent, heartbeat, type LiveTimes, RecentEvents, resultEvent } from './events.ts';
import { type LiveRun, RunAgain, type RunResult } from './live-run.ts';
import type { QueryRoom } from './room.ts';
import type { PacedRun, RunPace } from './run-pace.ts';
import type { LiveStream, StreamSource } from './stream.ts';
import { WatchedReads } from './watched-reads.ts';

interface LiveGroupOptions {
  readonly clock: Clock;
  readonly run: LiveRun;
  readonly throttleMs: number;
  readonly pace: RunPace;
  /** Counts its resources. */
  readonly room: QueryRoom;
  /** Called for every run. */
  readonly onRun: () => void;
  /** The key was rejected, and all members must end with these errors. */
  readonly onRefused: (errors: readonly object[]) => void;
  /** It exceeds the limit of its caller, and all members must end. */
  readonly onTooMuch: () => void;
  /** It has had no member for some time. */
  readonly onDeserted: () => void;
}

/** Time for which a query is watched after its last viewer has left, in milliseconds: enough to reload a page. */
const GRACE_MS = 5000;
/** Maximum number of members that get a result in one turn of the event loop: there can be thousands. */
const AT_A_TIME = 200;

/** All viewers of one query with the same variables, permissions and key: it is executed once for all of them. */
export class LiveGroup implements StreamSource {
  readonly #options: LiveGroupOptions;
  readonly #members = new Set<LiveStream>();
  readonly #reads: WatchedReads;
  readonly #abort = new AbortController();
  readonly #paced: PacedRun;
  readonly #again: RunAgain;
  /** The latest result: its JSON without the last brace, so that extensions can follow. `null` before the first. */
  #document: string | null = null;
  /** Number of results that differ from the previous one. */
  #revision = 0;
  #upstream: object = {};
  #state: 'current' | 'due' | 'running' | 'ended' = 'due';
  /** Number of writes that have invalidated a part of it. */
  #writes = 0;
  /** Number of these writes that the latest result certainly includes. */
  #shows = 0;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #cancelGrace = (): void => {};
  #isWaiting = false;
  /** Whether it waits for a turn. */
  #isQueued = false;
  /** The next event of members, by their revision. */
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
      isFirst: () => this.#document === null,
      work: () => this.#run(),
    };
    this.#schedule();
  }

  get members(): ReadonlySet<LiveStream> {
    return this.#members;
  }

  /** A new viewer. It must not get a state before earlier confirmed writes. */
  join(stream: LiveStream): void {
    this.#cancelGrace();
    this.#members.add(stream);
    this.#options.room.join(stream.caller);
    // A run that waits for its turn may start earlier now.
    if (this.#isQueued) this.#options.pace.begin(this.#paced);
    stream.wantsWrites = this.#writes;
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
    const document = this.#document;
    // Otherwise it waits for the run that follows from the write.
    if (document === null || this.#shows < stream.wantsWrites) return null;
    if (stream.revision === this.#revision) return null;
    const event = this.#events.once('result', () =>
      resultEvent(document, { live: this.#times, upstream: this.#upstream }),
    );
    return { event, revision: this.#revision };
  }

  /** The event for a member if nothing has changed. */
  reminder({ readsAges }: LiveStream): Buffer {
    if (!readsAges || this.#document === null) return heartbeat;
    return this.#events.once('age', () => ageEvent(this.#times));
  }

  /** An entry may have been removed without a change, to free memory. */
  lookAgain(): void {
    this.#reads.use();
    if (this.#state === 'current' && this.#reads.isOutdated) this.#changed();
  }

  /** A budget, or a history of counts, may differ from the one in the result. */
  lookAtOthers(): void {
    if (this.#state !== 'current') return;
    this.#again.forOthers(() => this.#reads.haveOthersChanged());
  }

  /** Releases everything. The caller ends the members. */
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

  get #times(): LiveTimes {
    const now = this.#options.clock.now();
    const { at, nextRefreshInMs } = this.#reads.oldest(now);
    return {
      revision: this.#revision,
      ageMs: Math.round(now - at),
      nextRefreshInMs: nextRefreshInMs === null ? null : Math.round(nextRefreshInMs),
    };
  }

  #changed(): void {
    if (this.#state !== 'current') return;
    this.#state = 'due';
    this.#schedule();
  }

  /** Schedules a run: in the next turn, or when the last change is long enough ago. */
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
      isFirst: this.#document === null,
      signal: this.#abort.signal,
    });
    await this.#options.pace.turn();
    if (this.#hasEnded) {
      // Reads that ended after the end of the group must not be watched forever.
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
    this.#keep(JSON.stringify(document).slice(0, -1));
    this.#events.forget();
    if (!this.#settle()) return false;
    this.#publishedAt = this.#options.clock.now();
    inBackground(loopTurns.each([...this.#members], AT_A_TIME, (member) => this.#show(member)));
    return true;
  }

  /** Keeps a result, which is sent if it differs from the latest. */
  #keep(document: string): void {
    if (document === this.#document) return;
    this.#document = document;
    this.#revision += 1;
  }

  /** Counts its current resources. False if they exceed the limit, and it has ended. */
  #settle(): boolean {
    const { onTooMuch, room } = this.#options;
    if (this.#hasEnded) return false;
    if (room.hold(this.#document?.length ?? null, this.#reads.size)) return true;
    onTooMuch();
    return false;
  }

  /** Sends the latest result to a member. */
  #show(member: LiveStream): void {
    if (this.#state === 'ended') return;
    if (member.revision !== this.#revision) member.look();
    else if (member.readsAges) member.mention(this.reminder(member));
  }
}
