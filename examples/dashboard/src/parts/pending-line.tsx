import type { PendingWrite } from 'links-market-client';
import { Seconds } from './countdown.tsx';

interface PendingLineProps {
  readonly write: PendingWrite;
  /** What it is to do: "the campaign was created". */
  readonly done: string;
  /** What to do after a reload, if that is not up to the page. */
  readonly next?: string;
  /** Gives it up. */
  readonly discard: () => void;
}

/** Where a write is, in words; absent while it is simply being sent. */
function wordsOf({ isUnsure, state }: PendingWrite, done: string, next?: string) {
  if (state === 'stopped') return next ?? `Not yet known whether ${done}.`;
  if (state === 'expired') return `Not known after 24 hours whether ${done}. Please check.`;
  if (state === 'offline') {
    return `You are offline. Sending ${isUnsure ? 'again ' : ''}when you are online.`;
  }
  if (isUnsure) return `Checking whether ${done}…`;
  return state === 'waiting' && 'The API is busy. Sending again automatically.';
}

/** Says what becomes of a write that is not simply being sent. Screen readers hear each sentence once. */
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
