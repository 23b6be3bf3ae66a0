import { useEffect, useRef, useState } from 'react';
import type { CodedError } from '../graph/errors.ts';
import { ExportError, type ExportProgress, exportQrCodes } from '../graph/export-csv.ts';
import type { Settings } from '../graph/settings.ts';
import { Countdown } from '../parts/countdown.tsx';
import { count, plural } from '../parts/format.ts';
import { Failure, Panel } from '../parts/panel.tsx';

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'running'; readonly progress: ExportProgress }
  | { readonly is: 'done'; readonly rows: number }
  | { readonly is: 'failed'; readonly errors: readonly CodedError[] };

const UNREACHABLE = { message: 'The gateway cannot be reached.' };

function save(text: string, name: string): void {
  // With a byte order mark spreadsheets read it as UTF-8.
  const url = URL.createObjectURL(new Blob(['\uFEFF', text], { type: 'text/csv;charset=utf-8' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
}

/** All QR codes as a file, however long the budget makes it wait. */
export function ExportPanel({ settings }: { settings: Settings }) {
  const [state, setState] = useState<State>({ is: 'idle' });
  const [statistics, setStatistics] = useState(false);
  const control = useRef<AbortController>(undefined);
  useEffect(() => () => control.current?.abort(), []);

  async function run(): Promise<void> {
    control.current = new AbortController();
    const { signal } = control.current;
    let rows = 0;
    setState({ is: 'running', progress: { rows, total: null, pause: null } });
    try {
      const text = await exportQrCodes(
        settings,
        statistics,
        (progress) => {
          rows = progress.rows;
          setState({ is: 'running', progress });
        },
        signal,
      );
      save(text, 'qr-codes.csv');
      setState({ is: 'done', rows });
    } catch (error) {
      if (signal.aborted) setState({ is: 'idle' });
      else {
        const errors = error instanceof ExportError ? error.errors : [UNREACHABLE];
        setState({
          is: 'failed',
          errors: errors.length > 0 ? errors : [{ message: 'The export failed.' }],
        });
      }
    }
  }

  const running = state.is === 'running' ? state.progress : null;
  return (
    <Panel title="Export" name="export">
      <p className="muted">
        All QR codes as CSV. When the rate limit is reached, the export waits and then resumes.
      </p>
      <label className="check">
        <input
          type="checkbox"
          checked={statistics}
          disabled={running !== null}
          onChange={({ currentTarget }) => setStatistics(currentTarget.checked)}
        />{' '}
        With statistics (1 request per code)
      </label>
      {running ? (
        <div className="progress">
          <label htmlFor="exported">
            {running.total === null
              ? 'Starting…'
              : `${count(running.rows)} of ${plural(running.total, 'row')}`}
          </label>
          <progress id="exported" max={running.total ?? 1} value={running.rows} />
          <button type="button" className="quiet" onClick={() => control.current?.abort()}>
            Cancel
          </button>
        </div>
      ) : (
        <button type="button" onClick={() => void run()}>
          Export CSV
        </button>
      )}
      {running?.pause && (
        <Countdown retry={running.pause} then="The export resumes automatically." />
      )}
      {state.is === 'failed' && <Failure errors={state.errors} again={() => void run()} />}
      <p className="done" role="status">
        {state.is === 'done' && `${plural(state.rows, 'row')} saved as qr-codes.csv.`}
      </p>
    </Panel>
  );
}
