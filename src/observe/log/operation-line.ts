import type { OperationRecord } from '../events.ts';

/** Characters of a caller's name that are written: an identity provider may give long ones. */
const LONGEST_CALLER = 64;

/** Texts that are the same in JSON but for their quotes. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A caller's name as it is logged. */
export function shortCaller(caller: string): string {
  return caller.length <= LONGEST_CALLER ? caller : `${caller.slice(0, LONGEST_CALLER - 1)}…`;
}

/**
 * The line of an operation: byte for byte what the library would write, for a small part of the time, since every
 * answer from memory leaves one.
 */
export function operationLine(record: OperationRecord, time: string): string {
  const { calls, outcome, requestId, stale, status, type, waitedMs } = record;
  const caller = record.caller && shortCaller(record.caller);
  const codes = record.codes.length > 0 ? `"codes":${JSON.stringify(record.codes)},` : '';
  const head = `{"level":"info","time":"${time}","requestId":${quoted(requestId)},"operation":${quoted(record.name)},"type":"${type}","caller":${quoted(caller)}`;
  const came = `,"status":${status},"outcome":"${outcome}",${codes}"durationMs":${Math.round(record.durationMs)}`;
  return `${head}${came},"upstream":{"calls":${calls},"waitedMs":${waitedMs},"stale":${stale}},"msg":"operation"}\n`;
}

/** A text as JSON. */
function quoted(text: string | null): string {
  if (text === null) return 'null';
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}
