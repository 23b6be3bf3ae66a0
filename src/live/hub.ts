import type { Digest } from '../digest.ts';
import type { EventStream } from '../observe/event-stream.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { endEvent, errorEvent } from './events.ts';
import { LiveGroup } from './group.ts';
import type { LiveRun } from './live-run.ts';
import { LiveRoom, RETRY_MS, type RoomLimits, tooMany } from './room.ts';
import { RunPace } from './run-pace.ts';
import { LiveStream } from './stream.ts';

/** The limits of live queries. */
interface LiveLimits extends RoomLimits {
  /** Maximum age of a stream, in milliseconds; its minimum is three quarters of that. */
  readonly maxAgeMs: number;
}

/** A query of a new viewer. */
export interface LiveRequest {
  /** Identifies all inputs of its result. */
  readonly key: string;
  readonly run: LiveRun;
  /** Its memory while it is watched, in bytes. */
  readonly keptBytes: number;
  readonly throttleMs: number;
  /** Whether the viewer reads events that say that nothing has changed. */
  readonly readsAges: boolean;
  readonly viewer: LiveViewer;
}

/** A viewer, with the stored part of its request: a process has thousands of them. */
interface LiveViewer {
  /** The name of the operation. */
  readonly name: string | null;
  readonly requestId: string;
  /** The caller for whom the stream is counted: never a key or a token. */
  readonly caller: string;
  /**
   * Whether the permissions are unchanged: `null` if so, the error if there are none, and `changed` if a new
   * request must determine them.
   */
  readonly check: () => Promise<object | 'changed' | null>;
}

interface LiveHubOptions {
  readonly clock: Clock;
  readonly digest: Digest;
  readonly limits: LiveLimits;
  readonly events: EventStream;
}

interface GroupMember {
  readonly stream: LiveStream;
  readonly viewer: LiveViewer;
  readonly group: LiveGroup;
  readonly since: number;
  /** When the stream ends, or, after its last event, is aborted; on `clock.now()`. */
  until: number;
  reason: string;
}

/** Interval at which a stream gets an event at least, and its viewer's permissions are checked, in milliseconds. */
const HEARTBEAT_MS = 15_000;
/** Interval of the search for streams without an event for that time, in milliseconds. */
const LOOK_MS = 1000;
/** Number of such searches between two checks of whether the entries of groups are still cached. */
const LOOKS_AT_GROUPS = 5;
/** After a shutdown, reconnects are spread over this many milliseconds per viewer, */
const RETURN_MS_EACH = 5;
/** ... at least and at most. */
const SHORTEST_RETURN_MS = 1000;
const LONGEST_RETURN_MS = 30_000;
/**
 * Delay of an immediate reconnect in milliseconds, during which the query is still watched. An `EventSource` uses this
 * number for later reconnects too.
 */
const NEXT_STREAM_MS = 1000;
/** Variation of the maximum age, so that streams opened together end one after the other. */
const AGE_SPREAD = 1 / 4;
/** Multiples of the golden ratio are spread evenly for any number of them. */
const GOLDEN = 0.618_033_988_749_895;
/** Time in which a viewer must receive the last event of a stream, in milliseconds, */
const LAST_WORDS_MS = 5000;
/** ... and during a shutdown, which must not wait for viewers. */
const LAST_WORDS_AT_STOP_MS = 1000;

/** All live queries of a process, with their viewers. */
export class LiveHub {
  readonly #options: LiveHubOptions;
  readonly #groups = new Map<string, LiveGroup>();
  readonly #members = new Map<LiveStream, GroupMember>();
  readonly #pace: RunPace;
  readonly #room: LiveRoom;
  #isLooking = false;
  #looks = 0;
  /** Number of streams since the start. */
  #opened = 0;
  #hasEnded = false;

  constructor(options: LiveHubOptions) {
    this.#options = options;
    this.#pace = new RunPace(options.clock);
    this.#room = new LiveRoom(options.limits);
  }

  /** Number of open streams and of watched queries, and their memory in bytes. */
  get size(): { readonly streams: number; readonly groups: number; readonly bytes: number } {
    return { streams: this.#members.size, groups: this.#groups.size, bytes: this.#room.bytes };
  }

  /**
   * Opens a stream. Costs what the query costs if it has no viewer yet, and nothing otherwise.
   * @throws GatewayError `TOO_MANY_STREAMS` with `retryAfterMs`.
   */
  open(request: LiveRequest): LiveStream {
    if (this.#hasEnded) throw tooMany('The gateway is shutting down.', SHORTEST_RETURN_MS);
    const { clock } = this.#options;
    const { caller } = request.viewer;
    this.#room.checkStream(caller);
    const name = this.#options.digest(request.key).slice(0, 12);
    const group = this.#groups.get(name) ?? this.#begin(name, request);
    const { readsAges, viewer } = request;
    const stream = new LiveStream({ readsAges, caller, clock });
    const since = clock.now();
    const until = since + this.#nextAgeMs();
    const member = { stream, viewer, group, since, until, reason: 'client disconnected' };
    this.#members.set(stream, member);
    const close = this.#room.openStream(caller);
    stream.once('close', () => {
      close();
      this.#closed(member);
    });
    group.join(stream);
    this.#options.events.emit('liveBegan', viewerOf(member));
    if (!this.#isLooking) this.#lookLater();
    return stream;
  }

  /** Ends all streams: their viewers reconnect to another process or to the next one, spread over time. */
  end(): void {
    this.#hasEnded = true;
    const spreadMs = Math.min(
      LONGEST_RETURN_MS,
      Math.max(SHORTEST_RETURN_MS, this.#members.size * RETURN_MS_EACH),
    );
    const stepMs = spreadMs / Math.max(1, this.#members.size);
    for (const [n, member] of [...this.#members.values()].entries()) {
      const inMs = Math.round(SHORTEST_RETURN_MS / 2 + n * stepMs);
      this.#finish(member, 'shutdown', endEvent(inMs));
    }
    for (const group of this.#groups.values()) group.end();
    this.#groups.clear();
    this.#options.clock.after(LAST_WORDS_AT_STOP_MS, () => {
      for (const stream of this.#members.keys()) stream.destroy();
    });
  }

  #nextAgeMs(): number {
    const { maxAgeMs } = this.#options.limits;
    this.#opened += 1;
    return maxAgeMs * (1 - AGE_SPREAD * ((this.#opened * GOLDEN) % 1));
  }

  #begin(name: string, { keptBytes, run, throttleMs, viewer }: LiveRequest): LiveGroup {
    const { clock, events } = this.#options;
    const room = this.#room.openQuery(viewer.caller, keptBytes);
    const group = new LiveGroup({
      clock,
      run,
      throttleMs,
      pace: this.#pace,
      room,
      onRun: () => events.emit('liveRun', null),
      onRefused: (errors) => {
        this.#forget(name, group);
        for (const member of this.#membersOf(group))
          this.#refuse(member, 'credential rejected', errors);
      },
      onTooMuch: () => {
        this.#forget(name, group);
        for (const member of this.#membersOf(group)) {
          this.#finish(member, 'limit exceeded', endEvent(RETRY_MS));
        }
      },
      onDeserted: () => this.#forget(name, group),
    });
    this.#groups.set(name, group);
    return group;
  }

  #forget(name: string, group: LiveGroup): void {
    group.end();
    if (this.#groups.get(name) === group) this.#groups.delete(name);
  }

  #membersOf(group: LiveGroup): GroupMember[] {
    return [...group.members].flatMap((stream) => this.#members.get(stream) ?? []);
  }

  #refuse(member: GroupMember, reason: string, errors: readonly object[]): void {
    const words = [errorEvent(errors), endEvent(null)];
    this.#finish(member, reason, Buffer.concat(words));
  }

  #finish(member: GroupMember, reason: string, words: Buffer): void {
    const { stream } = member;
    if (stream.isEnding) return;
    member.reason = reason;
    member.until = this.#options.clock.now() + LAST_WORDS_MS;
    stream.finish(words);
  }

  /** Ends a stream whose viewer should reconnect immediately. */
  #finishForNow(member: GroupMember, reason: string): void {
    this.#finish(member, reason, endEvent(NEXT_STREAM_MS));
  }

  /**
   * Ends a stream that has reached its maximum age, or aborts it if its viewer does not receive the end: the
   * system detects a lost network only after a quarter of an hour.
   */
  #retire(member: GroupMember): void {
    const { stream } = member;
    if (stream.isEnding) stream.destroy();
    else this.#finishForNow(member, 'maximum age reached');
  }

  #closed(member: GroupMember): void {
    const { stream } = member;
    if (!this.#members.delete(stream)) return;
    const { bytes, events } = stream;
    const durationMs = this.#options.clock.now() - member.since;
    const { reason } = member;
    const ended = { ...viewerOf(member), reason, durationMs, events, bytes };
    this.#options.events.emit('liveEnded', ended);
  }

  #lookLater(): void {
    this.#isLooking = true;
    this.#options.clock.after(LOOK_MS, () => {
      this.#look();
      this.#isLooking = false;
      if (this.#members.size > 0) this.#lookLater();
    });
  }

  /** Sends each viewer an event, and checks its permissions. */
  #look(): void {
    this.#looks += 1;
    if (this.#looks % LOOKS_AT_GROUPS === 0) {
      for (const group of this.#groups.values()) group.lookAgain();
    }
    for (const group of this.#groups.values()) group.lookAtOthers();
    const now = this.#options.clock.now();
    const before = now - HEARTBEAT_MS;
    for (const member of this.#members.values()) {
      const { group, stream } = member;
      if (member.until <= now) this.#retire(member);
      if (stream.isEnding) continue;
      if (stream.checkedAt <= before) {
        stream.checkedAt = now;
        inBackground(this.#check(member));
      }
      if (stream.spokeAt <= before) stream.mention(group.reminder(stream));
    }
  }

  /** Checks whether its viewer still has the permissions for the result. */
  async #check(member: GroupMember): Promise<void> {
    const verdict = await member.viewer.check();
    if (verdict === 'changed') this.#finishForNow(member, 'permissions changed');
    else if (verdict) this.#refuse(member, 'permission revoked', [verdict]);
  }
}

/** The emitted data of a viewer. */
function viewerOf({ viewer }: GroupMember) {
  const { caller, name, requestId } = viewer;
  return { caller, name, requestId };
}
