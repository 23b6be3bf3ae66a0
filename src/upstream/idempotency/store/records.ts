import { randomBytes } from 'node:crypto';
import { createDigest, type Digest } from '../../../digest.ts';
import type { EventStream } from '../../../observe/event-stream.ts';
import type { IdempotencyGauges } from '../../../observe/metrics/write-metrics.ts';
import { type AtOnce, inBackground } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import type { IdempotencyKey } from '../idempotency-key.ts';
import type { Ambiguity, Claim, OwnedRecord } from '../record.ts';
import { idOf } from '../runs/stored-value.ts';
import { type KeptRecord, KeptRecords, textOf } from './kept-records.ts';
import { RecordFile } from './record-file.ts';
import { headText, type RecordLine, removedText } from './record-lines.ts';

/** A caller that finds its key in use is told to retry after this time, in milliseconds. */
const RETRY_AFTER_MS = 1000;
const SECRET_BYTES = 32;

interface RecordsOptions {
  readonly clock: Clock;
  /** How long a key is kept, in milliseconds. */
  readonly keepMs: number;
  /** Maximum memory of all records. */
  readonly maxBytes: number;
  /** Where they are saved; by default in memory only. */
  readonly folder?: string | null;
  /** Whether it is a fault that there is no folder. */
  readonly mustSave?: boolean;
  /** Whether the folder is still this process's own. */
  readonly isOwned?: () => boolean;
  /** Names keys; by default with a secret of the file. */
  readonly digest?: Digest;
  readonly events?: EventStream | undefined;
  /** Reports to the operator, in one sentence. */
  readonly complain?: (sentence: string) => void;
}

/** The records of one process, in memory and in a file. */
export class Records {
  readonly digest: Digest;
  readonly #options: RecordsOptions;
  readonly #kept: KeptRecords;
  readonly #file: RecordFile | null;
  /** Both clocks at the start. */
  readonly #startedAt: { readonly now: number; readonly wall: number };
  #secret = '';
  #knownSince: number;
  #lostAt: number | null = null;

  constructor(options: RecordsOptions) {
    const { clock, complain = () => {}, events, folder, isOwned = () => true } = options;
    const { maxBytes, mustSave = false } = options;
    this.#options = options;
    this.#startedAt = { now: clock.now(), wall: clock.wall() };
    this.#knownSince = this.now;
    this.#kept = new KeptRecords({
      maxBytes,
      onForgotten: ({ firstAt, name }) => {
        // Another key of that time may have been used.
        this.#knownSince = Math.max(this.#knownSince, firstAt);
        this.#file?.append(removedText(name));
        events?.emit('keysForgotten', { count: 1 });
      },
    });
    const snapshot = () => this.#snapshot();
    this.#file = folder ? new RecordFile({ folder, clock, isOwned, snapshot, complain }) : null;
    this.#recall();
    this.#secret ||= randomBytes(SECRET_BYTES).toString('base64url');
    this.digest = options.digest ?? createDigest(this.#secret);
    this.#file?.begin();
    if (!this.#file && mustSave) {
      complain(
        'Idempotency keys are not saved in STATE_DIR: after a restart, a retry can make a change twice.',
      );
    }
  }

  /** The wall clock at the start, and the time since: one that is set has no effect on running writes. */
  get now(): number {
    const { now, wall } = this.#startedAt;
    return Math.round(wall + this.#options.clock.now() - now);
  }

  get knownSince(): number {
    return Math.max(this.#knownSince, this.now - this.#options.keepMs);
  }

  get hasLost(): boolean {
    return this.#lostAt !== null && this.now - this.#lostAt < this.#options.keepMs;
  }

  get gauges(): IdempotencyGauges {
    const { ambiguous, bytes, final: stored, inUse } = this.#kept.counts;
    const { maxBytes, mustSave = false } = this.#options;
    const isSaveFailing = this.#file ? this.#file.isFailing : mustSave;
    return { inProgress: inUse, ambiguous, stored, bytes, maxBytes, isSaveFailing };
  }

  createdIn(list: string): ReadonlySet<number> {
    const ids = new Set<number>();
    for (const { state } of this.#kept) {
      if (typeof state !== 'object' || state?.kind !== 'done' || state.list !== list) continue;
      const id = idOf(state.value);
      if (id !== null) ids.add(id);
    }
    return ids;
  }

  claim(key: IdempotencyKey): Claim {
    this.#kept.expire(this.now);
    const record = this.#kept.get(key.name);
    if (!record) return { kind: 'owned', record: this.#lend(this.#open(key)) };
    const { firstAt, state, use } = record;
    if (typeof state === 'string') return { kind: 'unreadable' };
    if (!isSame(record, key)) return { kind: 'reused' };
    if (state && state.kind !== 'ambiguous') return { kind: 'final', firstAt, outcome: state };
    if (use) return { kind: 'busy', ended: use.ended, retryAfterMs: RETRY_AFTER_MS };
    return { kind: 'owned', record: this.#lend(record) };
  }

  close(): void {
    this.#file?.close();
  }

  #open({ fingerprint, mutation, name, scope, upstream }: IdempotencyKey): KeptRecord {
    const firstAt = this.now;
    const until = firstAt + this.#options.keepMs;
    return this.#kept.add({ name, scope, upstream, mutation, ...fingerprint, firstAt, until });
  }

  /** Lends a record to one request. */
  #lend(record: KeptRecord): OwnedRecord {
    this.#kept.begin(record);
    const before = record.state;
    const end = (): void => record.use?.end();
    const restore = (): void => {
      if (record.state === before) return;
      const text = this.#kept.set(record, before);
      this.#file?.append(text || removedText(record.name));
    };
    return {
      firstAt: record.firstAt,
      ambiguity:
        typeof before === 'object' && before?.kind === 'ambiguous' ? before.ambiguity : null,
      sending: (ambiguity) => this.#save(record, { kind: 'ambiguous', ambiguity }),
      unsent: restore,
      ended: (outcome) => {
        const saved = this.#save(record, outcome);
        if (saved) inBackground(saved);
        end();
      },
      unknown: (ambiguity) => {
        const text = this.#kept.set(record, { kind: 'ambiguous', ambiguity });
        this.#file?.append(text);
        end();
      },
      release: () => {
        restore();
        end();
      },
    };
  }

  /** Resolves when the end of the machine cannot lose the state. */
  #save(record: KeptRecord, state: KeptRecord['state']): AtOnce<void> {
    const text = this.#kept.set(record, state);
    this.#file?.append(text);
    return this.#file?.save();
  }

  *#snapshot(): Generator<string> {
    const { hasLost, knownSince, now } = this;
    const lostAt = hasLost ? this.#lostAt : null;
    yield headText({ secret: this.#secret, writtenAt: now, knownSince, lostAt });
    for (const record of this.#kept) yield textOf(record);
  }

  /** Takes over what the processes before have saved. */
  #recall(): void {
    const recalled = this.#file?.recall() ?? null;
    if (recalled === null) return;
    const { now } = this;
    if (recalled === 'lost') {
      this.#lostAt = now;
      return;
    }
    const { hasLost, head, lines } = recalled;
    this.#secret = head.secret;
    this.#knownSince = hasLost ? now : Math.min(now, head.knownSince);
    this.#lostAt = hasLost ? now : head.lostAt;
    let writtenAt = head.writtenAt;
    for (const line of lines) {
      if (line.kind === 'record') writtenAt = Math.max(writtenAt, line.record.firstAt);
    }
    for (const line of lines) this.#apply(line, { now, writtenAt });
  }

  #apply(line: RecordLine, file: FileTimes): void {
    const { now } = file;
    if (line.kind === 'removed') {
      this.#kept.remove(line.name);
    } else if (line.kind === 'unreadable') {
      const { name, text } = line;
      this.#kept.remove(name);
      const until = now + this.#options.keepMs;
      this.#kept.set(this.#kept.add({ ...UNREADABLE, name, firstAt: now, until }), text);
    } else {
      const { state, until, ...of } = line.record;
      // Time passes only while a process runs: a wall clock that was set must not remove records.
      const leftMs = Math.min(this.#options.keepMs, Math.max(0, until - file.writtenAt));
      const known = this.#kept.get(of.name);
      const record = known ?? this.#kept.add({ ...of, until: now + leftMs });
      this.#kept.set(
        record,
        state.kind === 'ambiguous'
          ? { ...state, ambiguity: endedBy(state.ambiguity, file) }
          : state,
      );
    }
  }
}

/** When a file was read, and the latest time in it. */
interface FileTimes {
  readonly now: number;
  readonly writtenAt: number;
}

/**
 * A request of a process that has ended, and so has closed its connections. Between the two processes no time counts,
 * since the wall clock can have been set.
 */
function endedBy(ambiguity: Ambiguity, { now, writtenAt }: FileTimes): Ambiguity {
  return { ...ambiguity, overAt: Math.min(now, ambiguity.overAt + now - writtenAt) };
}

/** The members of a record that cannot be read. */
const UNREADABLE = { scope: '', upstream: 'LINKS', mutation: '', secret: '', digest: '' } as const;

/** Whether a record is of the content of a key. */
function isSame(
  record: Pick<KeptRecord, 'digest' | 'mutation' | 'secret'>,
  { fingerprint, mutation }: Pick<IdempotencyKey, 'fingerprint' | 'mutation'>,
): boolean {
  if (record.mutation !== mutation) return false;
  return record.secret !== fingerprint.secret || record.digest === fingerprint.digest;
}
