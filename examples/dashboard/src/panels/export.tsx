import { useState } from 'react';
import type { Settings } from '../graph/settings.ts';
import { type ExportJob, useExport } from '../graph/use-export.ts';
import { count, plural, seconds } from '../parts/format.ts';
import { Failure, Panel } from '../parts/panel.tsx';
import { useNow } from '../parts/use-now.ts';

/** "24 of 70 rows, 25 requests, ready in about 92 s": how far a job is. */
function ProgressLine({ job }: { job: ExportJob }) {
  const { callsSpent, readyAt, rowsDone, rowsTotal } = job;
  const ms = readyAt === null ? null : Math.max(0, Date.parse(readyAt) - useNow());
  return (
    <label htmlFor="exported">
      {rowsTotal === null ? 'Starting' : `${count(rowsDone)} of ${plural(rowsTotal, 'row')}`},{' '}
      {plural(callsSpent, 'request')}
      {ms !== null && `, ready in about ${seconds(ms)}`}
    </label>
  );
}

/** All QR codes as a file. The gateway writes it, also while the page is closed. */
export function ExportPanel({ settings }: { settings: Settings }) {
  const { busy, errors, job, loading, save, start, turn } = useExport(settings);
  const [statistics, setStatistics] = useState(false);
  const state = job?.state;
  const isOpen = state === 'QUEUED' || state === 'RUNNING' || state === 'PAUSED';
  const rows = job ? plural(job.rowsDone, 'row') : '';
  const withErrors = job?.failures ? `, ${count(job.failures)} with errors` : '';

  return (
    <Panel title="Export" name="export">
      <p className="muted">
        All QR codes as CSV. The gateway writes the file, also after you close this page.
      </p>
      {job && isOpen ? (
        <div className="progress">
          <ProgressLine job={job} />
          <progress id="exported" max={job.rowsTotal ?? 1} value={job.rowsDone} />
          <button
            type="button"
            className="quiet"
            disabled={busy}
            onClick={() => turn(job.id, true)}
          >
            Cancel
          </button>
        </div>
      ) : (
        <>
          <label className="check">
            <input
              type="checkbox"
              checked={statistics}
              onChange={({ currentTarget }) => setStatistics(currentTarget.checked)}
            />{' '}
            With statistics (1 request per code)
          </label>
          <button type="button" disabled={busy || loading} onClick={() => start(statistics)}>
            Export CSV
          </button>
        </>
      )}
      {job && (state === 'PAUSED' || state === 'FAILED') && (
        <div className="notice notice-bad" role="alert">
          <p>{job.error?.message ?? 'The export is paused.'}</p>
          <button
            type="button"
            className="quiet"
            disabled={busy}
            onClick={() => turn(job.id, false)}
          >
            Resume
          </button>
        </div>
      )}
      <Failure errors={errors} />
      <p className="done" role="status">
        {state === 'DONE' && `The export is ready: ${rows}${withErrors}.`}
        {state === 'CANCELED' && `The export was canceled after ${rows}.`}
      </p>
      {job?.url && state === 'DONE' && (
        <button type="button" onClick={() => save(job.url as string)}>
          Download
        </button>
      )}
    </Panel>
  );
}
