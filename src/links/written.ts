import { RowReader } from '../upstream/decode/row-reader.ts';
import { asMap } from '../upstream/decode/scalars.ts';
import { formatLocalTimestamp } from '../upstream/decode/timestamp.ts';
import type { DecodeContext } from '../upstream/request.ts';

/** Leaves out members that are absent or `null`: the caller did not give them. */
export function given<T>(
  members: Readonly<Record<string, T | null | undefined>>,
): Record<string, T> {
  const isGiven = (entry: [string, T | null | undefined]): entry is [string, T] => entry[1] != null;
  return Object.fromEntries(Object.entries(members).filter(isGiven));
}

/**
 * Opens the answer to a write, with members in `data`, at the top level, or in both.
 * Installations differ in how much they repeat of what was written, so ask `has` before reading.
 */
export function openWritten(body: unknown, path: string, context: DecodeContext): RowReader {
  const answer = asMap(body) ?? {};
  return new RowReader({ ...answer, ...given(asMap(answer['data']) ?? {}) }, path, context);
}

/** Formats an ISO 8601 moment for the API: local time in the zone of its own timestamps. */
export function upstreamTime(
  time: string | null | undefined,
  timeZone: string,
): string | undefined {
  return time == null ? undefined : formatLocalTimestamp(Date.parse(time), timeZone);
}
