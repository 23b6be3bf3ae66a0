import { inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { isFinal, type JobRecord } from './job.ts';
import type { StoredJob, StoredJobs } from './stored-jobs.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Jobs that have ended and are kept, of all callers: the limits of a caller concern only those that have not. */
const MOST_ENDED = 500;

interface EndedJobsOptions {
  readonly clock: Clock;
  readonly stored: StoredJobs;
  /** How long the output of a job is kept after its end, in milliseconds. */
  readonly keepMs: number;
  /** A job has another state. */
  readonly changed: (record: JobRecord) => void;
}

/** Removes the output of jobs that ended long ago and, after as long again, the jobs. */
export class EndedJobs {
  readonly #options: EndedJobsOptions;
  #cancel: () => void = () => {};
  #isClosed = false;

  constructor(options: EndedJobsOptions) {
    this.#options = options;
  }

  /** Expires at the next time at which something is due; no timer without a job that has ended. */
  expireLater(): void {
    const { clock, stored } = this.#options;
    this.#cancel();
    const at = Math.min(...stored.all.map(({ record }) => this.#expiresAt(record)));
    if (this.#isClosed || at === Number.POSITIVE_INFINITY) return;
    const afterMs = Math.min(Math.max(at - clock.wall(), MINUTE_MS), HOUR_MS);
    this.#cancel = clock.after(afterMs, () => {
      this.#expire();
      this.expireLater();
    });
  }

  /** Makes room for a job: the caller with most jobs that have ended loses the oldest of them. */
  forgetSome(): void {
    const { stored } = this.#options;
    const all = stored.all.filter(({ record }) => isFinal(record.state));
    if (all.length < MOST_ENDED) return;
    const byOwner = new Map<string, StoredJob[]>();
    for (const job of all) {
      const { isAnonymous = false, name } = job.record.owner;
      const owner = `${isAnonymous} ${name}`;
      byOwner.set(owner, [...(byOwner.get(owner) ?? []), job]);
    }
    const [most = []] = [...byOwner.values()].sort((one, other) => other.length - one.length);
    const [oldest] = most.sort((one, other) => one.record.createdAt - other.record.createdAt);
    if (oldest) stored.remove(oldest);
  }

  /** Expires nothing from now on. */
  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  /** When the output of a job that has ended is removed, or then the job; `Infinity` for any other job. */
  #expiresAt({ endedAt, state }: JobRecord): number {
    if (endedAt === null) return Number.POSITIVE_INFINITY;
    return endedAt + (state === 'EXPIRED' ? 2 : 1) * this.#options.keepMs;
  }

  #expire(): void {
    const { changed, clock, stored } = this.#options;
    for (const job of stored.all) {
      const { record } = job;
      if (this.#expiresAt(record) > clock.wall()) continue;
      if (record.state === 'EXPIRED') stored.remove(job);
      else {
        // The store saves it later if it cannot be written now.
        inBackground(job.discardOutput({ ...record, state: 'EXPIRED' }).catch(() => {}));
        changed(job.record);
      }
    }
  }
}
