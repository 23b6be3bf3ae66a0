import type { Retry } from '../graph/use-patient-query.ts';
import { useNow } from './use-now.ts';

interface CountdownProps {
  readonly retry: Retry;
}

/** Counts down to a time by the clock of this page, in milliseconds. */
export function Seconds({ until }: { until: number }) {
  return (
    <span className="count" role="timer" aria-label="Seconds left">
      {Math.max(0, Math.ceil((until - useNow()) / 1000))} s
    </span>
  );
}

/** Says that something goes on by itself, and counts down to it. Screen readers hear it once. */
export function Countdown({ retry }: CountdownProps) {
  return (
    <div className="notice notice-wait">
      <p role="status">
        {retry.exhausted ? 'Rate limit reached.' : 'The API is unavailable.'} Retries automatically.
      </p>
      <Seconds until={retry.at} />
    </div>
  );
}
