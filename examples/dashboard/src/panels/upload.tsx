import type { PendingWrite } from 'links-market-client';
import { type DragEvent, useRef, useState } from 'react';
import type { CodedError } from '../graph/errors.ts';
import type { UploadedFile } from '../graph/upload-file.ts';
import { type FileFacts, usePending, type Writes } from '../graph/writes.ts';
import { bytes } from '../parts/format.ts';
import { Failure, Panel } from '../parts/panel.tsx';
import { PendingLine } from '../parts/pending-line.tsx';

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'sending'; readonly file: File; readonly sent: number }
  | { readonly is: 'done'; readonly file: File; readonly made: UploadedFile }
  | { readonly is: 'failed'; readonly file: File; readonly errors: readonly CodedError[] };

/**
 * Sends a file with its progress, once: it is sent again by itself where that is needed, and after a reload when the
 * same file is chosen. 1 upstream call.
 */
export function UploadPanel({ writes }: { writes: Writes }) {
  const [state, setState] = useState<State>({ is: 'idle' });
  const [over, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const pending = usePending(writes, 'UploadFile');
  const current = pending.find((write) => write.state !== 'stopped' && write.state !== 'expired');

  async function upload(file: File): Promise<void> {
    const report = (sent: number): void => setState({ is: 'sending', file, sent });
    report(0);
    const { data, errors = [] } = await writes.upload(file, report);
    if (data) setState({ is: 'done', file, made: data });
    else setState({ is: 'failed', file, errors: errors as readonly CodedError[] });
  }

  function send(file: File | null | undefined): void {
    // Rejects when it is discarded or expires: its line says so.
    if (file && !current) upload(file).catch(() => setState({ is: 'idle' }));
  }

  const discard = ({ key }: PendingWrite): void => writes.forget(key);

  function drop(event: DragEvent): void {
    event.preventDefault();
    setOver(false);
    send(event.dataTransfer.files[0]);
  }

  const busy = current !== undefined;
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
        <p className="muted">or drop a file here. Up to 1 GiB.</p>
      </div>
      {current?.state === 'sending' && !current.isUnsure && state.is === 'sending' && (
        <div className="progress">
          <label htmlFor="sent">
            {state.file.name}, {bytes(state.sent)} of {bytes(state.file.size)}
          </label>
          <progress id="sent" max={1} value={state.file.size ? state.sent / state.file.size : 0} />
          <button type="button" className="quiet" onClick={() => discard(current)}>
            Cancel
          </button>
        </div>
      )}
      {pending.map((write) => {
        const { name } = write.variables as FileFacts;
        return (
          <PendingLine
            key={write.key}
            write={write}
            done={`${name} was uploaded`}
            next={`The upload of ${name} was interrupted. Choose the same file to go on with it.`}
            discard={() => discard(write)}
          />
        );
      })}
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
