import { writeSync } from 'node:fs';
import type { Clock } from '../../scheduling/clock.ts';
import type { LogStream } from './logger.ts';

/** Time that a line waits to be written together with others, in milliseconds. */
const GATHER_MS = 5;
/** As many characters as a pipe takes at once do not wait any longer. */
const GATHER_LENGTH = 64 * 1024;
/** Delay before the next attempt if the reader is too slow, in milliseconds. */
const RETRY_MS = 5;
/** Maximum number of bytes buffered for a slow reader. Further lines are dropped and counted. */
const MOST_HELD = 1024 * 1024;
/** Additional bytes that are buffered for urgent lines. */
const MOST_HELD_URGENT = 64 * 1024;

/** Standard output, shared by the log and the process: all text written here keeps its order. */
export interface StandardOutput extends Required<LogStream> {
  /** Runs `task` when everything is written: never, if the pipe is not read. */
  onceDrained(task: () => void): void;
}

/**
 * Writes lines to a descriptor, whole and in order. A line goes out with those that follow within 5 ms, and an urgent
 * one at once, after those that wait: when `writeNow` returns, the operating system has it.
 *
 * A write to a pipe never waits for its reader: Node has made the descriptor non-blocking once `process.stdout` was
 * looked at. A reader that does not keep up finds up to 1 MiB later, and after that a line that counts those that were
 * left out. A write to a file or a terminal takes as long as the system takes.
 */
export function standardOutput(clock: Clock, descriptor = 1): StandardOutput {
  /** Lines that have not been encoded yet. */
  let lines = '';
  /** Pending bytes in order; `heldBytes` in total. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  let leftOut = 0;
  /** The reader has gone. */
  let closed = false;
  /** When anything waits: until the next attempt. */
  let cancel: (() => void) | null = null;
  let onDrained: (() => void)[] = [];

  const hold = (): void => {
    const bytes = Buffer.from(lines);
    lines = '';
    held.push(bytes);
    heldBytes += bytes.length;
  };

  /** Writes as much as the descriptor takes. */
  const writeHeld = (): void => {
    try {
      for (let next = held[0]; next; next = held[0]) {
        const written = writeSync(descriptor, next);
        heldBytes -= written;
        if (written < next.length) held[0] = next.subarray(written);
        else held.shift();
      }
    } catch (error) {
      // Other errors, such as a full disk, can be temporary.
      closed = (error as NodeJS.ErrnoException).code === 'EPIPE';
      if (!closed) return;
      held = [];
      heldBytes = 0;
    }
  };

  const flush = (): void => {
    cancel?.();
    cancel = null;
    if (lines !== '') hold();
    writeHeld();
    if (leftOut > 0 && heldBytes <= MOST_HELD / 2) {
      lines = leftOutLine(leftOut, clock);
      leftOut = 0;
      hold();
      writeHeld();
    }
    if (heldBytes > 0) {
      cancel = clock.after(RETRY_MS, flush);
      return;
    }
    for (const task of onDrained) task();
    onDrained = [];
  };

  const add = (line: string, most: number): boolean => {
    if (closed) return false;
    if (heldBytes > 0 && heldBytes + lines.length + line.length > most) {
      leftOut += 1;
      return false;
    }
    lines += line;
    return true;
  };

  process.on('exit', flush);
  return {
    write(line) {
      // Once one is dropped, so are the next: the line with their number represents all of them.
      if (!add(line, leftOut > 0 ? 0 : MOST_HELD)) return;
      if (lines.length >= GATHER_LENGTH) {
        if (heldBytes > 0) hold();
        else flush();
      } else {
        cancel ??= clock.after(GATHER_MS, flush);
      }
    },
    writeNow(line) {
      if (add(line, MOST_HELD + MOST_HELD_URGENT)) flush();
    },
    onceDrained(task) {
      onDrained.push(task);
      flush();
    },
  };
}

/** Replaces lines that could not be written. */
function leftOutLine(count: number, clock: Clock): string {
  const msg = `${count} lines are missing: standard output was not read fast enough.`;
  return `${JSON.stringify({ level: 'warn', time: new Date(clock.wall()).toISOString(), msg })}\n`;
}
