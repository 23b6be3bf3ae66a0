/**
 * The timestamps of both APIs. One writes `YYYY-MM-DD HH:MM:SS` without a zone, the other ISO 8601 in UTC with any
 * number of fraction digits.
 */

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)? ?(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?$/i;

const utc = /^(?:etc\/)?(?:utc|gmt|z)$/i;
const dayMs = 86_400_000;
/** The first and the last second with a four-digit year. */
const startOfTime = Date.UTC(1000, 0);
const endOfTime = Date.UTC(9999, 11, 31, 23, 59, 59);

/** One formatter per zone: creating one costs a thousand times more than using it. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/**
 * The time of a timestamp, in milliseconds since the epoch, or `null` if it is invalid. Without a zone it is local
 * time in `timeZone` (a valid IANA name). If a clock change makes a local time occur twice, the first is used; if
 * it skips one, the offset before the change applies.
 */
export function parseTimestamp(text: string, timeZone: string): number | null {
  const match = pattern.exec(text.trim());
  return match && momentOf(match, timeZone);
}

/** The time of a timestamp in the format of `formatTimestamp`, or `null` if it is invalid. */
export function normalTimestamp(text: string, timeZone: string): string | null {
  const match = pattern.exec(text.trim());
  const moment = match && momentOf(match, timeZone);
  if (match === null || moment === null) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00', , zone] = match;
  // In UTC, which is the usual zone, the digits are copied: a `Date` would take longer.
  const isUtc = utc.test(zone ?? timeZone);
  return isUtc ? `${year}-${month}-${day}T${hour}:${minute}:${second}Z` : formatTimestamp(moment);
}

/**
 * The format of the gateway, `2026-01-31T09:30:00Z`, always to the second: neither API is more precise, and strings of
 * one length sort like their times. Fractions are truncated.
 */
export function formatTimestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/**
 * The local time in `timeZone` (a valid IANA name), as `YYYY-MM-DD HH:MM:SS`: the inverse of `parseTimestamp`,
 * except for the second run of an hour that a clock change repeats, which this format cannot distinguish from the
 * first. Fractions are truncated.
 */
export function formatLocalTimestamp(epochMs: number, timeZone: string): string {
  const wall = utc.test(timeZone) ? epochMs : epochMs + offsetMs(epochMs, timeZone);
  // "Never" is often written as the last second of the calendar, which is out of range east of UTC.
  return new Date(Math.min(wall, endOfTime)).toISOString().slice(0, 19).replace('T', ' ');
}

/** The time of a text that `pattern` matches. */
function momentOf(match: RegExpExecArray, timeZone: string): number | null {
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] = match;
  const wall = calendarMs(
    Number(year),
    Number(month),
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  if (wall === null) return null;
  const moment = zone === undefined ? fromLocal(wall, timeZone) : wall - fixedOffsetMs(zone);
  const exact = moment + Number(fraction.padEnd(3, '0').slice(0, 3));
  return exact >= startOfTime && exact < endOfTime + 1000 ? exact : null;
}

/** `null` for an impossible date or time, e.g. the 30th of February, which `Date` would shift. */
function calendarMs(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): number | null {
  if (year < 1000 || hour > 23 || minute > 59 || second > 59) return null;
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(ms);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? ms : null;
}

function fixedOffsetMs(zone: string): number {
  const match = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone);
  if (!match) return 0;
  const [, sign, hours, minutes = '0'] = match;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** The rule that `Temporal` calls "compatible": a day before and a day after bracket any clock change. */
function fromLocal(wall: number, timeZone: string): number {
  if (utc.test(timeZone)) return wall;
  const before = offsetMs(wall - dayMs, timeZone);
  const after = offsetMs(wall + dayMs, timeZone);
  if (before === after) return wall - before;
  for (const offset of [before, after]) {
    if (offsetMs(wall - offset, timeZone) === offset) return wall - offset;
  }
  return wall - before;
}

/** The offset of the zone from UTC at a given time. */
function offsetMs(epochMs: number, timeZone: string): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of formatter(timeZone).formatToParts(epochMs)) {
    parts[type] = Number(value);
  }
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(epochMs / 1000) * 1000;
}

function formatter(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formatters.set(timeZone, made);
  return made;
}
