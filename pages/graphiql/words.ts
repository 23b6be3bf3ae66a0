/** "1 upstream request", "12 upstream requests". */
export function requestsText(count: number): string {
  return count === 1 ? '1 upstream request' : `${count} upstream requests`;
}

/** How long something took or how old it is, as short as one says it: "11 ms", "40 s", "3 min". */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}

/** How old something is: what is younger than a second is as good as new. */
export function ageText(ms: number): string {
  return ms < 1000 ? '0 s' : durationText(ms);
}

/** How long something is still away: never less than what is left, so that no retry comes too early. */
export function awayText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

/** "812 B", "34 KB", "1.2 MB". */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000
    ? `${Math.round(bytes / 1000)} KB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
