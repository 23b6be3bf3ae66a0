/**
 * How long a caller is willing to wait for turns under the rate limits, in milliseconds: the `wait` of its
 * `Prefer` header, in seconds, but never longer than `maxWaitMs`; `null` when it does not say, or says
 * nothing usable. Several headers are one list, of which the first `wait` counts.
 * Implements: RFC 7240 sections 2 and 4.3.
 */
export function preferredWaitMs(
  prefer: string | null | undefined,
  maxWaitMs: number,
): number | null {
  if (!prefer) return null;
  for (const preference of preferencesOf(prefer)) {
    // Parameters behind a semicolon are not the preference's value.
    const [text = ''] = preference.split(';', 1);
    const [name = '', value = ''] = text.split('=', 2);
    if (name.trim().toLowerCase() !== 'wait') continue;
    const seconds = /^"?(\d+)"?$/.exec(value.trim())?.[1];
    return seconds === undefined ? null : Math.min(maxWaitMs, Number(seconds) * 1000);
  }
  return null;
}

/**
 * The `Preference-Applied` header of the answer: the wait that was in force, in seconds, which is less than
 * was asked for where that was too long; `null` when none was asked for.
 * Implements: RFC 7240 section 3.
 */
export function preferenceApplied(
  prefer: string | null | undefined,
  maxWaitMs: number,
): string | null {
  const waitMs = preferredWaitMs(prefer, maxWaitMs);
  return waitMs === null ? null : `wait=${Math.floor(waitMs / 1000)}`;
}

/** The members of a list, which commas part, but for those within quotes. */
function preferencesOf(list: string): string[] {
  const parts = list.split('"');
  const unquoted = parts.map((part, index) => (index % 2 === 0 ? part : part.replaceAll(',', ' ')));
  return unquoted.join('"').split(',');
}
