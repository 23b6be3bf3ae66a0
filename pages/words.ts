/** A time to come, for people: whole seconds, rounded up, so that `now` is never said too early. */
export function timeToCome(ms: number): string {
  if (ms <= 0) return 'now';
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.ceil(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.ceil(seconds / 3600)} h` : `${Math.ceil(seconds / 86_400)} d`;
}

/** The same in a sentence: `now` or `in 4 s`. */
export function inTime(ms: number): string {
  return ms <= 0 ? 'now' : `in ${timeToCome(ms)}`;
}

/** A time that has passed, for people. */
export function timePassed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** The span of what this process has counted over an hour. */
export function spanInWords({ uptimeMs }: { readonly uptimeMs: number }): string {
  return uptimeMs < 3_600_000 ? `since the start ${timePassed(uptimeMs)} ago` : 'last hour';
}

/** How long something took, as precise as it matters. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : timePassed(ms);
}

/** A number of things, grouped as the reader's language has it. */
export function count(number: number): string {
  return number.toLocaleString();
}

/** `1 write`, `2 writes`. */
export function counted(number: number, one: string, several = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** A part of a whole in percent; a dash where there is no whole. */
export function share(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((100 * part) / whole)} %` : '–';
}

/** "812 B", "34 KB", "1.2 MB". */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`;
  return `${bytes < 1e7 ? (bytes / 1e6).toFixed(1) : Math.round(bytes / 1e6)} MB`;
}

/** A moment of today, to the second. */
export function timeOfDay(at: number): string {
  return clockTime.format(at);
}

const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
