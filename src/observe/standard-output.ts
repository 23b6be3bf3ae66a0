import { destination } from 'pino';
import type { Clock } from '../clock.ts';
import type { LogStream } from './logger.ts';

/** How long a line may wait for others to be written with, in milliseconds. */
const GATHER_MS = 5;
/** So many characters are written at once. */
const GATHER_LENGTH = 8 * 1024;

/**
 * The process's standard output. Lines are written asynchronously, and together with those that follow at
 * once: each write takes longer than to make a line. The rest is written when the process ends.
 */
export function standardOutput(clock: Clock): LogStream {
  let lines = '';
  let cancel = (): void => {};
  const flush = (): void => {
    cancel();
    const text = lines;
    lines = '';
    if (text !== '') output.write(text);
  };
  // Before the library writes what it holds, for which it listens to the same event.
  process.on('exit', flush);
  const output = destination({ dest: 1, sync: false });
  return {
    write(line) {
      if (lines === '') cancel = clock.after(GATHER_MS, flush);
      lines += line;
      if (lines.length >= GATHER_LENGTH) flush();
    },
  };
}
