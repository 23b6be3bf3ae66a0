import type { Viewer } from '../auth/viewer.ts';
import { isFinal, type JobRecord } from '../jobs/job.ts';
import type { Jobs } from '../jobs/jobs.ts';
import { shownClass } from '../observe/callers.ts';
import type { Scrub } from '../observe/log/scrub.ts';
import type { ConsoleState, JobRow } from './console-state.ts';

/** Maximum number of jobs that are shown. */
const JOBS_SHOWN = 50;

/** Sees all jobs. Callers' names are removed later, from states for viewers who may not know them. */
const OPERATOR: Viewer = { name: '', role: 'admin' };

/** What the console asks of jobs. */
export type ConsoleJobs = Pick<Jobs, 'list' | 'readyAt'>;

/** The jobs of all callers: those that have not ended, then the latest. */
export function consoleJobs(jobs: ConsoleJobs, scrub: Scrub): ConsoleState['jobs'] {
  const all = jobs.list(OPERATOR, null);
  const [open, ended] = [false, true].map((has) =>
    all.filter((each) => isFinal(each.state) === has),
  );
  const rows = [...(open ?? []), ...(ended ?? [])].slice(0, JOBS_SHOWN);
  return {
    total: all.length,
    open: open?.length ?? 0,
    rows: rows.map((record) => rowOf(record, jobs.readyAt(record), scrub)),
  };
}

function rowOf(record: JobRecord, readyAt: number | null, scrub: Scrub): JobRow {
  const { error, id, name, owner, progress, state } = record;
  const { calls, callsLeft, failures, rowsDone, rowsTotal } = progress;
  return {
    id,
    name,
    caller: scrub(owner.name),
    callerClass: shownClass(owner.callerClass),
    state,
    rowsDone,
    rowsTotal,
    calls,
    callsLeft: isFinal(state) ? null : callsLeft,
    readyAt: readyAt && Math.round(readyAt),
    failures,
    error: error && scrub(error.message),
  };
}
