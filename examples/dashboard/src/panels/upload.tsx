import { retryAfterMs } from 'links-market-client';
import { type DragEvent, useEffect, useRef, useState } from 'react';
import { type CodedError, isExhausted } from '../graph/errors.ts';
import type { Settings } from '../graph/settings.ts';
import { type UploadedFile, uploadFile } from '../graph/upload-file.ts';
import type { Retry } from '../graph/use-patient-query.ts';
import { Countdown } from '../parts/countdown.tsx';
import { bytes } from '../parts/format.ts';
import { Failure, Panel } from '../parts/panel.tsx';

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'sending'; readonly file: File; readonly sent: number }
  | { readonly is: 'done'; readonly file: File; readonly made: UploadedFile }
  | { readonly is: 'failed'; readonly file: File; readonly errors: readonly CodedError[] }
  | { readonly is: 'waiting'; readonly file: File; readonly retry: Retry };

/** Sends a file with its progress, and once more by itself when the budget has nothing left. 1 upstream call. */
export function UploadPanel({ settings }: { settings: Settings }) {
  const [state, setState] = useState<State>({ is: 'idle' });
  const [over, setOver] = useState(false);
  const stop = useRef(() => {});
  const picker = useRef<HTMLInputElement>(null);

  function send(file: File | null | undefined): void {
    if (!file) return;
    stop.current();
    setState({ is: 'sending', file, sent: 0 });
    stop.current = uploadFile(
      settings,
      file,
      (sent) => setState({ is: 'sending', file, sent }),
      ({ file: made, errors = [] }) => {
        stop.current = () => {};
        const ms = retryAfterMs(errors);
        if (made) setState({ is: 'done', file, made });
        else if (errors.length === 0) setState({ is: 'idle' });
        else if (ms === null) setState({ is: 'failed', file, errors });
        else {
          const retry = { at: Date.now() + ms, exhausted: isExhausted(errors) };
          setState({ is: 'waiting', file, retry });
        }
      },
    );
  }

  useEffect(() => {
    if (state.is !== 'waiting') return undefined;
    const timer = setTimeout(() => send(state.file), state.retry.at - Date.now());
    return () => clearTimeout(timer);
  }, [state]);

  function drop(event: DragEvent): void {
    event.preventDefault();
    setOver(false);
    send(event.dataTransfer.files[0]);
  }

  const busy = state.is === 'sending';
  const share = busy && state.file.size > 0 ? state.sent / state.file.size : 0;
  return (
    <Panel title="Upload a file" name="upload">
      <div
        className={over ? 'drop drop-over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <input
          ref={picker}
          type="file"
          className="visually-hidden"
          aria-label="File to upload"
          tabIndex={-1}
          onChange={({ currentTarget }) => {
            send(currentTarget.files?.[0]);
            currentTarget.value = '';
          }}
        />
        <button type="button" onClick={() => picker.current?.click()} disabled={busy}>
          Choose a file
        </button>
        <p className="muted">or drop a file here. Files can have any size.</p>
      </div>
      {busy && (
        <div className="progress">
          <label htmlFor="sent">
            {state.file.name}, {bytes(state.sent)} of {bytes(state.file.size)}
          </label>
          <progress id="sent" max={1} value={share} />
          <button type="button" className="quiet" onClick={() => stop.current()}>
            Cancel
          </button>
        </div>
      )}
      {state.is === 'waiting' && (
        <Countdown retry={state.retry} then="The upload starts automatically." />
      )}
      {state.is === 'failed' && <Failure errors={state.errors} again={() => send(state.file)} />}
      <div role="status">
        {state.is === 'done' && (
          <p className="done">
            {state.file.name} uploaded, 1 upstream request.{' '}
            {state.made.shortUrl && <a href={state.made.shortUrl}>{state.made.shortUrl}</a>}
          </p>
        )}
      </div>
    </Panel>
  );
}
