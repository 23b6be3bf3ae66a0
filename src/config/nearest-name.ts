/** A forgotten unit is the likeliest slip, so a name that continues `name` wins over a similar one. */
export function nearest(
  name: string,
  candidates: readonly string[],
): { candidate: string; edits: number } {
  const ranked = candidates.map((candidate) => ({
    candidate,
    edits: candidate.startsWith(name) ? 0 : distance(name, candidate),
  }));
  return ranked.reduce((best, each) => (each.edits < best.edits ? each : best));
}

/** Levenshtein distance: insertions, deletions and replacements that turn `a` into `b`. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
