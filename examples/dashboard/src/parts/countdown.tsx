import type { Retry } from '../graph/use-patient-query.ts';
import { useNow } from './use-now.ts';

interface CountdownProps {
  readonly retry: Retry;
  /** What happens then, as a sentence. */
  readonly then?: string | undefined;
}

/** Says that something goes on by itself, and counts down to it. Screen readers hear it once. */
export function Countdown({ retry, then = 'Retries automatically.' }: CountdownProps) {
  const seconds = Math.max(0, Math.ceil((retry.at - useNow()) / 1000));
  return (
    <div className="notice notice-wait">
      <p role="status">
        {retry.exhausted ? 'Rate limit reached.' : 'The API is unavailable.'} {then}
      </p>
      <span className="count" role="timer" aria-label="Seconds left">
        {seconds} s
      </span>
    </div>
  );
}
