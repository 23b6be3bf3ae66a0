/** The time that the sandbox runs on; the gateway's `Clock` implements it too. */
export interface SandboxClock {
  /** Milliseconds since the epoch. */
  wall(): number;
  /** Runs `task` once, `ms` milliseconds from now, and returns a function that cancels it. */
  after(ms: number, task: () => void): () => void;
}

/** The time of the machine, for a sandbox without another clock. */
export const machineClock: SandboxClock = {
  wall: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Length of a day in milliseconds. */
export const DAY = 86_400_000;

/** Writes a moment as `YYYY-MM-DD HH:MM:SS` in UTC, the timestamp of the link API. */
export function stamp(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}

/** Reads `YYYY-MM-DD HH:MM:SS` or `YYYY-MM-DD` as UTC; undefined when there is no such moment. */
export function readStamp(text: string): number | undefined {
  const parts = /^(\d{4}-\d{2}-\d{2})(?: (\d{2}:\d{2}:\d{2}))?$/.exec(text);
  if (!parts) return undefined;
  const ms = Date.parse(`${parts[1]}T${parts[2] ?? '00:00:00'}Z`);
  // Date.parse turns 30 February into 2 March, so a date is valid only if it formats to the same text.
  return Number.isFinite(ms) && stamp(ms).startsWith(parts[1] ?? '-') ? ms : undefined;
}
