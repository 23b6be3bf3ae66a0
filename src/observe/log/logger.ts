import { type DestinationStream, pino, symbols } from 'pino';
import type { Clock } from '../../scheduling/clock.ts';
import type { EventReader } from '../event-stream.ts';
import type { EventRows, OperationRecord } from '../events.ts';
import type { Scrub } from './scrub.ts';

/** Lines of a stack that are written: a message can have any number of lines that look like these. */
const MOST_STACK_LINES = 20;
/** The library's number of the level. */
const WARN = 40;

/** Characters of a caller's name that are written: an identity provider may give long ones. */
const LONGEST_CALLER = 64;

/** Request ids of operations that waited for a request which another operation had sent. */
const MOST_SHARED_WITH = 9;

/** The log has a line on removed idempotency keys once in this time, in milliseconds. */
const REMOVAL_TOLD_MS = 600_000;

/** The log has a line on tokens that are not valid, for each reason, once in this time, in milliseconds. */
const REJECTION_TOLD_MS = 60_000;

/** Texts that are the same in JSON but for their quotes. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** The target of lines: standard output, or a test's array. */
export interface LogStream {
  /** Takes a line, which may wait for others to be written with. */
  write(line: string): unknown;
  /** Writes a line immediately, after the waiting ones. If absent, no line waits. */
  writeNow?(line: string): unknown;
}

/** Writes a line as soon as a stream can. */
export function writeNow(stream: LogStream, line: string): void {
  if (stream.writeNow) stream.writeNow(line);
  else stream.write(line);
}

/** The least severe lines that are written; `silent` writes none. */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'silent';

/**
 * The gateway's log, as JSON lines. Of each event it writes exactly the facts that may be logged, so that no header, body,
 * variable or URL can enter it. Texts that are not ours pass `scrub` first.
 */
export function createLog(options: {
  readonly level: LogLevel;
  readonly stream: LogStream;
  readonly scrub: Scrub;
  readonly clock: Clock;
}): EventReader {
  const { clock, level, scrub, stream } = options;
  const time = isoTime(clock);
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${time()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    byLevel(stream),
  );
  const viewer = ({ caller, name, requestId }: EventRows['liveBegan']) => {
    return { requestId, operation: name, caller: shortCaller(caller) };
  };
  const operation = ({ record }: { readonly record: OperationRecord }): void => {
    stream.write(operationLine(record, time()));
  };
  let removed = 0;
  let removalToldAt = Number.NEGATIVE_INFINITY;
  const rejectionsToldAt = new Map<string, number>();
  return {
    // Absent if operations are not logged: creating the record costs time on the fast path.
    ...(logger.isLevelEnabled('info') ? { operationEnded: operation, answered: operation } : {}),
    notice: ({ facts = {}, message }) => logger.info(facts, message),
    complaint: ({ sentence }) => logger.warn(scrub(sentence)),
    tokenRejected(fault) {
      const { reason } = fault;
      if (clock.now() - (rejectionsToldAt.get(reason) ?? -Infinity) < REJECTION_TOLD_MS) return;
      rejectionsToldAt.set(reason, clock.now());
      // Each token expires.
      logger[reason === 'expired' ? 'info' : 'warn'](fault, 'token rejected');
    },
    defect: ({ error, requestId }) =>
      logger.error({ requestId, error: describe(error, scrub) }, 'unexpected error'),
    liveBegan: (row) => logger.info(viewer(row), 'live query started'),
    liveEnded(row) {
      const { bytes, durationMs, events, reason } = row;
      const ended = { reason, durationMs: Math.round(durationMs), events, bytes };
      logger.info({ ...viewer(row), ...ended }, 'live query ended');
    },
    keyed(write) {
      if (write.outcome === 'unknown') logger.warn(writeFacts(write), 'write outcome unknown');
      else if (write.outcome === 'reconciled') logger.info(writeFacts(write), 'write reconciled');
    },
    keysForgotten({ count }) {
      removed += count;
      // A store that is full loses a key with each new one.
      if (clock.now() - removalToldAt < REMOVAL_TOLD_MS) return;
      logger.warn({ count: removed }, 'idempotency keys removed: store full');
      removalToldAt = clock.now();
      removed = 0;
    },
    requestEnded({ outcome, request: { asker, method, resource, upstream } }) {
      const { cause, code, durationMs } = outcome;
      const facts = {
        ...asker,
        upstream,
        method,
        resource,
        code,
        durationMs: Math.round(durationMs),
      };
      if (code === 'OK') {
        logger.debug(facts, 'upstream request');
      } else if (code === 'LATE') {
        logger.debug(facts, 'upstream request postponed');
      } else if (code === 'REFUSED') {
        logger.warn(facts, 'upstream rate limit refusal');
      } else if (code === 'CANCELED') {
        logger.info(facts, 'upstream request canceled by its caller');
      } else {
        const why = cause === undefined ? {} : { cause: reasons(cause, scrub) };
        logger.warn({ ...facts, ...others(outcome), ...why }, 'upstream failed');
      }
    },
  };
}

/** What may be logged of a write whose response was lost. */
function writeFacts(write: EventRows['keyed']): object {
  const { asker, caller, key, mutation, reads, settlesAt, upstream } = write;
  return {
    requestId: asker?.requestId,
    operation: asker?.operation,
    caller: caller && shortCaller(caller),
    callerClass: asker?.callerClass,
    upstream,
    mutation,
    key,
    reads,
    ...(settlesAt === null ? {} : { settlesAt: new Date(settlesAt).toISOString() }),
  };
}

/** The request ids of the operations that a failure is shared with, and how many operations it is for in all. */
function others({ sharedWith = [] }: EventRows['requestEnded']['outcome']): object {
  if (sharedWith.length === 0) return {};
  const ids = sharedWith.slice(0, MOST_SHARED_WITH).map(({ requestId }) => requestId);
  return { sharedWith: ids, operations: sharedWith.length + 1 };
}

/** A caller's name as it is logged. */
function shortCaller(caller: string): string {
  return caller.length <= LONGEST_CALLER ? caller : `${caller.slice(0, LONGEST_CALLER - 1)}…`;
}

/**
 * The log line of an operation: the same bytes that the library would write, in a small part of the time, because
 * every remembered response has one.
 */
function operationLine(record: OperationRecord, time: string): string {
  const { callerClass, calls, outcome, requestId, stale, status, type, waitedMs } = record;
  const caller = record.caller && shortCaller(record.caller);
  const ofClass = callerClass === undefined ? '' : `,"callerClass":${quoted(callerClass)}`;
  const codes = record.codes.length > 0 ? `"codes":${JSON.stringify(record.codes)},` : '';
  const head = `{"level":"info","time":"${time}","requestId":${quoted(requestId)},"operation":${quoted(record.name)},"type":"${type}","caller":${quoted(caller)}`;
  const came = `${ofClass},"status":${status},"outcome":"${outcome}",${codes}"durationMs":${Math.round(record.durationMs)}`;
  return `${head}${came},"upstream":{"calls":${calls},"waitedMs":${waitedMs},"stale":${stale}},"msg":"operation"}\n`;
}

/** A text as JSON. */
function quoted(text: string | null): string {
  if (text === null) return 'null';
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Warnings and errors are written immediately, because the process may be about to end. */
function byLevel(stream: LogStream): DestinationStream {
  const destination = {
    // The library sets the level of each line before it writes the line.
    [symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(line: string) {
      if (destination.lastLevel < WARN) stream.write(line);
      else writeNow(stream, line);
    },
  };
  return destination;
}

/** The time as lines have it; all lines of a millisecond share one text. */
function isoTime(clock: Clock): () => string {
  let at = Number.NaN;
  let text = '';
  return () => {
    const now = clock.wall();
    if (now !== at) {
      at = now;
      text = new Date(now).toISOString();
    }
    return text;
  };
}

/** A cause and the causes of it, each as one line. */
function reasons(cause: unknown, scrub: Scrub, depth = 0): string[] {
  if (!(cause instanceof Error)) return [scrub(String(cause))];
  const code = 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : '';
  const inner =
    cause.cause !== undefined && depth < 4 ? reasons(cause.cause, scrub, depth + 1) : [];
  return [scrub(`${cause.name}: ${cause.message}${code}`), ...inner];
}

function describe(
  error: unknown,
  scrub: Scrub,
): { message: string; stack?: string[]; cause?: string[] } {
  if (!(error instanceof Error)) return { message: scrub(String(error)) };
  // The first lines of a stack repeat the message, which can be any text.
  const stack = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    message: scrub(`${error.name}: ${error.message}`),
    stack: stack.slice(-MOST_STACK_LINES).map((line) => scrub(line.trim())),
    ...(error.cause === undefined ? {} : { cause: reasons(error.cause, scrub) }),
  };
}
