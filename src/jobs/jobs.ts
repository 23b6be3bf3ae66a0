import { hash, randomInt } from 'node:crypto';
import type { GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import {
  BadUserInput,
  GatewayError,
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
} from '../errors.ts';
import { type AtOnce, inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { waitMs } from '../scheduling/wait.ts';
import type { RowLock, RowLocks } from '../upstream/idempotency/row-locks.ts';
import {
  isFinal,
  type JobOwner,
  type JobRecord,
  type JobState,
  jobStates,
  newRecord,
} from './job.ts';
import { JobLeases } from './job-leases.ts';
import type { JobOperations } from './job-operations.ts';
import { JobRuns, KnownJob } from './job-runs.ts';
import { checkedExport, type ExportInput } from './job-starts.ts';
import { Pace } from './pace.ts';
import type { JobFiles } from './storage/job-files.ts';
import type { JobFolder } from './storage/job-folder.ts';

/** Limits of all jobs. */
interface JobLimits {
  /** Maximum number of jobs that have not ended, of all callers and of one. */
  readonly most: number;
  readonly mostPerCaller: number;
  /** How long the output of a job is kept after its end, in milliseconds. */
  readonly keepMs: number;
}

/** Where jobs are stored, and what lets one change at a time be made to each of them. */
export interface JobStore {
  readonly folder: JobFolder<JobRecord>;
  readonly rowLocks: RowLocks;
}

interface JobsOptions {
  readonly clock: Clock;
  readonly schema: GraphQLSchema;
  readonly operations: JobOperations;
  /** `null` if jobs cannot be stored. */
  readonly store: JobStore | null;
  /** The owner of a job with its current permissions; `null` if it may not do anything any more. */
  readonly viewerOf: (owner: JobOwner) => Viewer | null;
  readonly limits: JobLimits;
  /** A job has another state, by this process. */
  readonly changed: (record: JobRecord) => void;
  /** Reports an unexpected error. */
  readonly defect: (error: unknown) => void;
}

/** A job with its files. */
export interface StoredJob {
  readonly record: JobRecord;
  readonly files: JobFiles<JobRecord>;
}

/** A job by its start. */
export interface StartedJob {
  readonly record: JobRecord;
  /** Whether an earlier request with the same idempotency key has started it. */
  readonly isReplay: boolean;
}

/** Where jobs are stored, and what runs them. */
interface Stored extends JobStore {
  readonly runs: JobRuns;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Jobs that have ended and are kept: of all callers and, as for the limits above, not only of one. */
const MOST_ENDED = 500;
/** How often a shared folder is read, with and without jobs that have not ended, in milliseconds. */
const REFRESH_MS = { open: 3000, idle: 30_000 };
/** How long a request to turn a job waits for the process that runs it, and how often it looks, in milliseconds. */
const TURN_MS = 5000;
const TURN_LOOK_MS = 250;
/** How long a start waits for another one with the same idempotency key, in milliseconds. */
const SAME_KEY_MS = 10_000;

/**
 * The jobs of a gateway: they run in the background, from slots that are left, and continue after a restart. Several
 * processes can share a folder: each sees all jobs, and one at a time runs each of them.
 */
export class Jobs {
  readonly #options: JobsOptions;
  /** `null` if jobs cannot be stored. */
  readonly #stored: Stored | null;
  readonly #jobs = new Map<string, KnownJob>();
  /** The jobs that are being checked or saved. */
  readonly #starting = new Set<Pick<JobRecord, 'id' | 'owner'>>();
  readonly #ended = new AbortController();
  #cancelExpiry: () => void = () => {};

  constructor(options: JobsOptions) {
    this.#options = options;
    const { store } = options;
    this.#stored = store && {
      ...store,
      runs: new JobRuns({
        ...options,
        changed: (record) => this.#changed(record),
        folder: store.folder,
        leases: new JobLeases(store.rowLocks),
      }),
    };
  }

  /**
   * Loads the jobs of the process before, and continues those that have not ended; those in a shared folder in the
   * background, since a network file system can be away. Never rejects.
   */
  async load(): Promise<void> {
    if (!this.#stored) return;
    const { folder } = this.#stored;
    if (folder.isShared) {
      inBackground(this.#keepRefreshing());
      return;
    }
    for (const files of await folder.load()) this.#learn(files);
    this.#expireLater();
  }

  /** Reads what other processes have saved of all jobs: see `JobFolder.refresh`. At once if the folder is not shared. */
  refresh(): AtOnce<void> {
    if (this.#stored?.folder.isShared) return this.#refresh(this.#stored.folder);
  }

  /** The same for one job. */
  refreshOne(id: string): AtOnce<void> {
    if (this.#stored?.folder.isShared) return this.#refreshOne(this.#stored.folder, id);
  }

  /**
   * Starts an export. No upstream request by itself.
   * @throws GatewayError `BAD_USER_INPUT`, `FORBIDDEN`, `IDEMPOTENCY_KEY_REUSED`, `TOO_MANY_JOBS` or
   * `JOBS_NOT_CONFIGURED`.
   */
  async startExport(viewer: Viewer, input: ExportInput): Promise<StartedJob> {
    const stored = this.#storedFor(viewer);
    const lock = input.key && (await this.#lockOf(stored, viewer, input.key.name));
    try {
      await this.refresh();
      const known = input.key && this.#keyed(viewer, input.key);
      if (known) return { record: known.record, isReplay: true };
      return { record: await this.#create(stored, viewer, input), isReplay: false };
    } finally {
      lock?.release();
    }
  }

  /** A job that the viewer may see; `null` if there is none. */
  find(viewer: Viewer, id: string): StoredJob | null {
    const job = this.#jobs.get(id);
    return job && maySee(viewer, job.record) ? job : null;
  }

  /** @throws BadUserInput */
  #known(viewer: Viewer, id: string): KnownJob {
    const job = this.#jobs.get(id);
    if (job && maySee(viewer, job.record)) return job;
    throw new BadUserInput('There is no job with this ID.');
  }

  /**
   * The record of a job.
   * @throws BadUserInput `BAD_USER_INPUT` if the viewer has no such job.
   */
  async get(viewer: Viewer, id: string): Promise<JobRecord> {
    await this.refreshOne(id);
    return this.#known(viewer, id).record;
  }

  /** The jobs that the viewer may see, the latest first. */
  list(viewer: Viewer, state: JobState | null): JobRecord[] {
    return [...this.#jobs.values()]
      .map(({ record }) => record)
      .filter((record) => maySee(viewer, record) && (state === null || record.state === state))
      .sort((one, other) => other.createdAt - one.createdAt || Number(other.id) - Number(one.id));
  }

  /** When a job will probably be complete, in milliseconds since 1970; `null` if that is unknown. */
  readyAt({ maxPerMinute, owner, progress, startAt, state }: JobRecord): number | null {
    const { clock, operations } = this.#options;
    const { callsLeft, upstream } = progress;
    const goesOn = state === 'QUEUED' || state === 'RUNNING';
    if (!goesOn || callsLeft === null) return null;
    const pace = maxPerMinute === null ? null : new Pace(clock, maxPerMinute, progress.pace);
    const paceMs = pace?.forecastMs(callsLeft) ?? 0;
    const slotsMs = operations.forecastMs(upstream, callsLeft, owner.callerClass);
    const ms = Math.max(paceMs, slotsMs);
    return Number.isFinite(ms) ? Math.max(clock.wall(), startAt) + ms : null;
  }

  /**
   * Ends, pauses or continues a job. One whose state does not allow that stays as it is. Another process that runs the
   * job is requested to do so, which takes about a second. If it does not within 5 s, the job is returned as it is; a
   * request to end or pause it stays.
   * @throws BadUserInput `BAD_USER_INPUT` if the viewer has no such job; JobStorageFull or JobStorageFailed.
   */
  async turn(viewer: Viewer, id: string, to: 'CANCELED' | 'PAUSED' | 'QUEUED'): Promise<JobRecord> {
    const { clock } = this.#options;
    const { signal } = this.#ended;
    const until = clock.now() + TURN_MS;
    for (;;) {
      await this.refreshOne(id);
      const job = this.#known(viewer, id);
      const isTurned = !mayTurn(job.record, to) || (await this.#turnHere(job, to));
      if (isTurned || signal.aborted || clock.now() >= until) return job.record;
      await waitMs(clock, TURN_LOOK_MS, signal).catch(() => {});
    }
  }

  /** Stops all runs at their last saved progress; the next process continues them. */
  async drain(): Promise<void> {
    this.#ended.abort();
    this.#cancelExpiry();
    if (!this.#stored) return;
    const { folder, runs } = this.#stored;
    await Promise.all([...this.#jobs.values()].map((job) => runs.stop(job, null)));
    await folder.close();
  }

  /** Number of jobs in each state; 0 in those without jobs. */
  get counts(): ReadonlyMap<JobState, number> {
    const counts = new Map<JobState, number>(jobStates.map((state) => [state, 0]));
    for (const { record } of this.#jobs.values()) {
      counts.set(record.state, (counts.get(record.state) ?? 0) + 1);
    }
    return counts;
  }

  /** Lets one start at a time use an idempotency key. @throws IdempotencyKeyInUse */
  async #lockOf({ rowLocks }: Stored, viewer: Viewer, name: string): Promise<RowLock> {
    const terms = { patienceMs: SAME_KEY_MS, signal: this.#ended.signal };
    const text = JSON.stringify([viewer.isAnonymous ? null : viewer.name, name]);
    const lock = await rowLocks.exclude(`job of ${hash('sha256', text)}`, terms);
    if (!lock) throw new IdempotencyKeyInUse(SAME_KEY_MS);
    return lock;
  }

  async #create({ folder, runs }: Stored, viewer: Viewer, input: ExportInput): Promise<JobRecord> {
    const { clock } = this.#options;
    const { isDryRun, key, maxPerMinute, startAt } = input;
    const wall = clock.wall();
    const starting = this.#takeRoom(ownerOf(viewer), wall);
    try {
      const checked = await checkedExport(this.#options, viewer, input);
      const record = newRecord({
        ...starting,
        ...checked,
        key,
        maxPerMinute,
        startAt: startAt ?? wall,
        wall,
      });
      if (isDryRun) return record;
      await this.#forgetSome();
      const job = new KnownJob(await folder.create(record.id, record));
      this.#jobs.set(record.id, job);
      this.#changed(record);
      if (!this.#ended.signal.aborted) runs.begin(job);
      return record;
    } finally {
      this.#starting.delete(starting);
    }
  }

  /** Integers of 15 digits, like the ids of other objects; later ones are greater. */
  #newId(wall: number): string {
    // The digits at random distinguish the jobs of processes that share a folder.
    for (let number = Math.floor(wall) * 100 + randomInt(100); ; number += 1) {
      const id = String(number);
      if (!this.#jobs.has(id) && ![...this.#starting].some((each) => each.id === id)) return id;
    }
  }

  /** The job that was started with a key. @throws IdempotencyKeyReused if it was another one. */
  #keyed(viewer: Viewer, key: NonNullable<JobRecord['key']>): KnownJob | null {
    for (const job of this.#jobs.values()) {
      const { record } = job;
      // Callers without an identity share their keys: the address of a phone changes.
      const isOwn = isOwnerOf(viewer, record) || (viewer.isAnonymous && record.owner.isAnonymous);
      if (record.key?.name !== key.name || !isOwn) continue;
      if (record.key.fingerprint !== key.fingerprint) throw new IdempotencyKeyReused();
      return job;
    }
    return null;
  }

  /** @throws GatewayError `JOBS_NOT_CONFIGURED` */
  #storedFor({ linksCredential }: Viewer): Stored {
    if (this.#stored && !linksCredential) return this.#stored;
    throw new GatewayError(
      'JOBS_NOT_CONFIGURED',
      linksCredential
        ? 'Jobs are not available to callers with an API key of their own, because the gateway does not store keys.'
        : 'This gateway has no jobs. Its operator can set STATE_DIR.',
    );
  }

  /** Counts a start as a job until it is one, or is refused. @throws GatewayError `TOO_MANY_JOBS` */
  #takeRoom(owner: JobOwner, wall: number): Pick<JobRecord, 'id' | 'owner'> {
    const { most, mostPerCaller } = this.#options.limits;
    const records = [...this.#jobs.values()].map(({ record }) => record);
    const open = [...records.filter(({ state }) => !isFinal(state)), ...this.#starting];
    const own = open.filter((each) => isOwnerOf(owner, each)).length;
    if (open.length < most && own < mostPerCaller) {
      const start = { id: this.#newId(wall), owner };
      this.#starting.add(start);
      return start;
    }
    const [limit, whose] =
      own < mostPerCaller ? [most, 'All callers have'] : [mostPerCaller, 'You have'];
    throw new GatewayError(
      'TOO_MANY_JOBS',
      `${whose} ${limit} jobs that have not ended. Wait for one of them, or cancel it.`,
      { details: { limit } },
    );
  }

  /** Knows a job as it is saved now, and runs it if no process does. */
  #learn(files: JobFiles<JobRecord>): void {
    const job = this.#jobs.get(files.id) ?? new KnownJob(files);
    job.files = files;
    this.#jobs.set(files.id, job);
    if (!this.#ended.signal.aborted) this.#stored?.runs.begin(job);
  }

  async #refresh(folder: JobFolder<JobRecord>): Promise<void> {
    const all = await folder.refresh();
    for (const files of all) this.#learn(files);
    const ids = new Set(all.map(({ id }) => id));
    for (const id of this.#jobs.keys()) if (!ids.has(id)) this.#jobs.delete(id);
    this.#expireLater();
  }

  async #refreshOne(folder: JobFolder<JobRecord>, id: string): Promise<void> {
    const files = await folder.find(id);
    if (files) this.#learn(files);
    else this.#jobs.delete(id);
  }

  /** Finds jobs of other processes, and those whose process has ended. */
  async #keepRefreshing(): Promise<void> {
    const { clock, defect } = this.#options;
    const { signal } = this.#ended;
    let reported = '';
    while (!signal.aborted) {
      try {
        await this.refresh();
        reported = '';
      } catch (error) {
        // A disk that is away is reported once.
        if (reported !== String(error)) defect(error);
        reported = String(error);
      }
      const isIdle = [...this.#jobs.values()].every(({ record }) => isFinal(record.state));
      await waitMs(clock, isIdle ? REFRESH_MS.idle : REFRESH_MS.open, signal).catch(() => {});
    }
  }

  /** `false` if another process runs the job: it is then requested to end or pause it. */
  async #turnHere(job: KnownJob, to: 'CANCELED' | 'PAUSED' | 'QUEUED'): Promise<boolean> {
    if (!this.#stored) return false;
    const { folder, runs } = this.#stored;
    await runs.stop(job, to);
    const isOwner = await runs.own(job, async () => {
      // It can have ended by itself meanwhile.
      if (mayTurn(job.record, to)) await runs.end(job, { state: to, error: null });
    });
    if (isOwner) runs.begin(job);
    else if (to !== 'QUEUED') await folder.request(job.record.id, to);
    return isOwner;
  }

  #changed(record: JobRecord): void {
    this.#options.changed(record);
    if (isFinal(record.state)) this.#expireLater();
  }

  /** At the next time at which something expires; no timer without a job that has ended. */
  #expireLater(): void {
    const { clock, defect } = this.#options;
    this.#cancelExpiry();
    const dues = [...this.#jobs.values()].map(({ record }) => this.#expiresAt(record));
    const at = Math.min(...dues);
    if (this.#ended.signal.aborted || at === Number.POSITIVE_INFINITY) return;
    const afterMs = Math.min(Math.max(at - clock.wall(), MINUTE_MS), HOUR_MS);
    this.#cancelExpiry = clock.after(afterMs, () =>
      inBackground(
        this.#expire()
          .catch(defect)
          .then(() => this.#expireLater()),
      ),
    );
  }

  /** When the output of a job that has ended is removed, or then the job; `Infinity` for any other job. */
  #expiresAt({ endedAt, state }: JobRecord): number {
    const { keepMs } = this.#options.limits;
    if (endedAt === null) return Number.POSITIVE_INFINITY;
    return endedAt + (state === 'EXPIRED' ? 2 : 1) * keepMs;
  }

  /** Removes the output of jobs that ended long ago and, after as long again, the jobs. */
  async #expire(): Promise<void> {
    for (const job of this.#jobs.values()) {
      if (this.#isDue(job)) await this.#stored?.runs.own(job, () => this.#expireOne(job));
    }
  }

  #isDue({ record }: KnownJob): boolean {
    return this.#expiresAt(record) <= this.#options.clock.wall();
  }

  async #expireOne(job: KnownJob): Promise<void> {
    // Another process can have done it before.
    if (!this.#isDue(job)) return;
    if (job.record.state === 'EXPIRED') return this.#remove(job);
    await this.#stored?.runs.save(job, { state: 'EXPIRED' });
    await job.files.discardOutput();
  }

  /** Makes room for a job: the caller with most jobs that have ended loses the oldest of them. */
  async #forgetSome(): Promise<void> {
    const all = [...this.#jobs.values()].filter(({ record }) => isFinal(record.state));
    if (all.length < MOST_ENDED) return;
    const byOwner = new Map<string, KnownJob[]>();
    for (const job of all) {
      const { isAnonymous = false, name } = job.record.owner;
      const owner = `${isAnonymous} ${name}`;
      byOwner.set(owner, [...(byOwner.get(owner) ?? []), job]);
    }
    const [most = []] = [...byOwner.values()].sort((one, other) => other.length - one.length);
    const [oldest] = most.sort((one, other) => one.record.createdAt - other.record.createdAt);
    if (oldest) await this.#stored?.runs.own(oldest, () => this.#remove(oldest));
  }

  /** By its owner. */
  async #remove({ record }: KnownJob): Promise<void> {
    this.#jobs.delete(record.id);
    await this.#stored?.folder.remove(record.id);
  }
}

/** Whether a job can be canceled, paused or continued. */
function mayTurn({ state }: JobRecord, to: 'CANCELED' | 'PAUSED' | 'QUEUED'): boolean {
  if (to !== 'QUEUED') return !isFinal(state) && state !== to;
  return state === 'PAUSED' || state === 'FAILED';
}

/** A job belongs to its caller; administrators see all. */
function maySee(viewer: Viewer, record: JobRecord): boolean {
  return viewer.role === 'admin' || isOwnerOf(viewer, record);
}

function isOwnerOf(
  { isAnonymous, name }: Pick<Viewer, 'isAnonymous' | 'name'>,
  { owner }: Pick<JobRecord, 'owner'>,
): boolean {
  return name === owner.name && isAnonymous === owner.isAnonymous;
}

function ownerOf({ callerClass, isAnonymous, name, role }: Viewer): JobOwner {
  return { name, role, ...(isAnonymous && { isAnonymous }), ...(callerClass && { callerClass }) };
}
