import type { IncomingMessage, ServerResponse } from 'node:http';
import { requestIdOf } from '../http/door/every-request.ts';
import { shownClass } from '../observe/callers.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Caller } from '../upstream/operation.ts';

/** Emits events of uploads. */
export interface UploadObservers {
  readonly clock: Clock;
  readonly events: EventStream;
}

/** An upload as it is observed: an operation like those of the graph. */
interface UploadObservation {
  /** The caller is known, and the cost is on the receipt of this request. */
  of(caller: Caller): void;
  /** Runs the upload itself, as the parent of its upstream request. */
  run<T>(work: () => T): T;
  /** It has its response; `code` is `null` after success. */
  ended(status: number, code: string | null): void;
}

/** What an upload is called among operations. */
const NAME = 'PUT /files';

/** Emits an upload once, when it has ended, including refused ones. */
export function observeUpload(
  request: IncomingMessage,
  response: ServerResponse,
  { clock, events }: UploadObservers,
): UploadObservation {
  const startedAt = clock.now();
  const header = (name: string) => request.headers[name]?.toString();
  let caller: Caller | null = null;
  return {
    of(known) {
      caller = known;
      known.receipt.asker = {
        requestId: requestIdOf(header('x-request-id')),
        operation: NAME,
        callerClass: shownClass(known.callerClass),
      };
      const origin = { header, request };
      events.emit('operationBegan', { operation: known.receipt, type: 'upload', origin });
    },
    run: (work) => (caller && events.within ? events.within(caller.receipt, work) : work()),
    ended(status, code) {
      // A response is being sent while its client can still read it.
      const canceled = response.destroyed && !response.writableEnded;
      const summary = caller?.receipt.summary;
      const at = clock.now();
      const record = {
        requestId: requestIdOf(header('x-request-id')),
        name: NAME,
        type: 'upload',
        caller: caller?.name ?? null,
        callerClass: shownClass(caller?.callerClass),
        status,
        codes: code === null || canceled ? [] : [code],
        outcome: canceled ? 'canceled' : code === null ? 'ok' : 'failed',
        durationMs: at - startedAt,
        calls: summary?.calls ?? 0,
        saved: 0,
        waitedMs: summary?.waitedMs ?? 0,
        stale: 0,
        maxAgeMs: 0,
      } as const;
      events.emit('operationEnded', { at, operation: caller?.receipt ?? null, record });
    },
  };
}
