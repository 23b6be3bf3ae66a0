import { OutcomeUnknown, type UpstreamName } from '../../../errors.ts';
import type { Write } from '../../request.ts';
import type { WriteCall } from './write-call.ts';

/** What is told of a write whose outcome is unknown. */
interface Unknown {
  readonly upstream: UpstreamName;
  /** When a retry can find out, in milliseconds since 1970; `null` if none can. */
  readonly settlesAt: number | null;
  /** The current time in the same unit. */
  readonly now: number;
  /** Rows that may be the result. */
  readonly candidates: readonly number[];
  /** The error of the request. */
  readonly cause?: unknown;
}

/** The error of a write whose outcome is unknown, and its event. */
export function unknownOutcome<T>(
  call: WriteCall<T>,
  { candidates, cause, now, settlesAt, upstream }: Unknown,
): OutcomeUnknown {
  call.emit('unknown', settlesAt);
  const { key, write } = call;
  const { check, evidence } = write;
  const list = evidence?.kind === 'creation' ? evidence.list : null;
  const times = settlesAt !== null && {
    settlesAt: new Date(settlesAt).toISOString(),
    // Without a key, a program that retries would make the change twice.
    ...(key && { retryAfterMs: Math.max(0, Math.ceil(settlesAt - now)) }),
  };
  return new OutcomeUnknown(upstream, adviceOf(write, key !== null, settlesAt !== null), {
    check,
    details: { ...times },
    ...(list && candidates.length > 0
      ? { candidates: { resource: list.resource, ids: candidates } }
      : {}),
    cause: cause instanceof Error ? cause.cause : undefined,
  });
}

function adviceOf<T>({ check, evidence }: Write<T>, isKeyed: boolean, settles: boolean): string {
  if (isKeyed && settles) {
    return evidence?.kind === 'repeatable'
      ? 'Retry with the same idempotency key: a second request has the same effect.'
      : 'Retry with the same idempotency key: the gateway looks for the change and does not send it again.';
  }
  if (check === null) return 'It is safe to retry.';
  return isKeyed
    ? `Check ${check} before you retry with another idempotency key.`
    : `Check ${check} before you retry.`;
}
