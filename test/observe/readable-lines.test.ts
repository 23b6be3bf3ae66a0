import { describe, expect, it } from 'vitest';
import { readableLines } from '../../src/observe/log/readable-lines.ts';

/** What a person reads of a line. */
function read(line: object, color = false): string {
  let text = '';
  readableLines({ write: (more) => void (text += more) }, { color }).write(JSON.stringify(line));
  return text;
}

const time = '2030-01-01T12:30:05.123Z';

describe('a line of the log for a person', () => {
  it('has the time of day, the level, what happened, and its facts by their names', () => {
    const line = {
      level: 'warn',
      time,
      upstream: { calls: 3, waitedMs: 0 },
      codes: ['A', 'B'],
      msg: 'operation',
    };
    expect(read(line)).toMatch(
      /^\d\d:30:05 warn {2}operation upstream\.calls=3 upstream\.waitedMs=0 codes=A,B\n$/,
    );
  });

  it('has the stack of a defect below', () => {
    const error = { message: 'Error: x', stack: ['at one', 'at two'] };
    expect(read({ level: 'error', time, error, msg: 'unexpected error' })).toMatch(
      /error unexpected error error=Error: x\n {4}at one\n {4}at two\n$/,
    );
  });

  it('is colored only where that is wanted', () => {
    const line = { level: 'info', time, msg: 'started' };
    expect(read(line)).not.toContain('\u001b');
    expect(read(line, true)).toContain('\u001b[32minfo \u001b[0m');
  });
});
