import { type ReactNode, useId } from 'react';
import type { CodedError } from '../graph/errors.ts';
import type { DatedReceipt, PatientQuery } from '../graph/use-patient-query.ts';
import { Countdown } from './countdown.tsx';
import { duration, plural, seconds } from './format.ts';
import { useNow } from './use-now.ts';

/** "3 requests, 2 saved, 12 ms waited, oldest 40 s": the cost of a panel, and its current age. */
export function ReceiptLine({ receipt }: { receipt: DatedReceipt | null }) {
  const now = useNow();
  if (!receipt) return null;
  const { calls, saved, waitedMs, maxAgeMs } = receipt.receipt;
  const age = maxAgeMs + Math.max(0, now - receipt.receivedAt);
  return (
    <p className="receipt" data-calls={calls}>
      {plural(calls, 'request')}, {saved.cache + saved.coalesced} saved, {duration(waitedMs)}{' '}
      waited, oldest {seconds(age)}
    </p>
  );
}

/** The errors of a request that is not retried automatically, with a button to retry. */
export function Failure({ errors, again }: { errors: readonly CodedError[]; again?: () => void }) {
  if (errors.length === 0) return null;
  const messages = [...new Set(errors.map(({ message }) => message))].slice(0, 3);
  return (
    <div className="notice notice-bad" role="alert">
      <p>{messages.join(' ')}</p>
      {again && (
        <button type="button" className="quiet" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Gray lines in place of rows that are not loaded yet. */
export function Skeleton({ rows, what }: { rows: number; what: string }) {
  return (
    <div className="skeleton" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

/** The countdown or the error of a query, whichever there is. */
export function Trouble({ query }: { query: PatientQuery<unknown> }) {
  if (query.retry) return <Countdown retry={query.retry} />;
  return <Failure errors={query.errors} again={query.again} />;
}

interface PanelProps {
  readonly title: string;
  /** Of what: `qr`, for the layout. */
  readonly name: string;
  /** A few words beside the title. */
  readonly aside?: ReactNode;
  /** `null` until it comes: its place is kept. Absent for a panel without one. */
  readonly receipt?: DatedReceipt | null;
  readonly children: ReactNode;
}

/** A card with a heading, and at its foot what it cost. */
export function Panel({ title, name, aside, receipt, children }: PanelProps) {
  const id = useId();
  return (
    <section className={`panel panel-${name}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside && <div className="aside">{aside}</div>}
      </header>
      <div className="body">{children}</div>
      {receipt !== undefined && (
        <footer>
          <ReceiptLine receipt={receipt} />
        </footer>
      )}
    </section>
  );
}
