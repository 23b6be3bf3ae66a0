import type { PendingWrite } from 'links-market-client';
import { Seconds } from './countdown.tsx';

interface PendingLineProps {
  readonly write: PendingWrite;
  /** What it is to do: "the campaign was created". */
  readonly done: string;
  /** What the user has to do after a reload, if the page cannot continue the write itself. */
  readonly next?: string;
  /** Discards the write. */
  readonly discard: () => void;
}

/** The state of a write as a sentence; none while its first request is under way. */
function wordsOf({ isUnsure, state }: PendingWrite, done: string, next?: string) {
  if (state === 'stopped') return next ?? `Not yet known whether ${done}.`;
  if (state === 'expired') return `Not known after 24 hours whether ${done}. Please check.`;
  if (state === 'offline') {
    return `You are offline. Sending ${isUnsure ? 'again ' : ''}when you are online.`;
  }
  if (isUnsure) return `Checking whether ${done}…`;
  return state === 'waiting' && 'The API is busy. Sending again automatically.';
}

/** Shows the state of a write after its first request. Screen readers announce each sentence once. */
export function PendingLine({ write, done, next, discard }: PendingLineProps) {
  const words = wordsOf(write, done, next);
  return (
    words && (
      <div className="notice notice-wait">
        <p role="status">{words}</p>
        {write.retryAt && <Seconds until={write.retryAt} />}
        <button type="button" className="quiet" onClick={discard}>
          Discard
        </button>
      </div>
    )
  );
}
