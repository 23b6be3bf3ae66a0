import { describe, expect, it } from 'vitest';
import { describeFault } from '../src/commands/describe-fault.ts';
import { UsageError } from '../src/commands/faults.ts';
import { readableLines } from '../src/observe/log/readable-lines.ts';
import { visibleText } from '../src/visible-text.ts';

const TURNING = [
  0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
];
/** Reads as `invoice_exe.pdf` where it is not escaped. */
const NAME = 'invoice_\u202Efdp.exe';
const SHOWN = 'invoice_\\u202efdp.exe';

describe('a text for a person', () => {
  it.each(TURNING.map((code) => [code.toString(16).padStart(4, '0'), String.fromCodePoint(code)]))(
    'shows U+%s',
    (code, character) => {
      expect(visibleText(`a${character}b`)).toBe(`a\\u${code}b`);
    },
  );

  it('shows what a terminal would obey', () => {
    expect(visibleText('a\u001b[2Kb\u0000\u009b\r')).toBe('a\\u001b[2Kb\\u0000\\u009b\\u000d');
  });

  it.each(['שלום עולם', 'مرحبا', 'naïve\tname\nof two lines', '👨‍👩‍👧 Straße', 'नमस्ते'])(
    'stays as it is: %j',
    (text) => {
      expect(visibleText(text)).toBe(text);
    },
  );
});

describe('a name that turns the text around', () => {
  it('is shown in lines of the log for a person', () => {
    let text = '';
    const stream = readableLines({ write: (more) => void (text += more) }, { color: true });
    const error = { message: `Error: ${NAME}`, stack: [`at ${NAME}`] };
    const line = { level: 'info', time: '2030-01-01T12:30:05.123Z', caller: NAME, error };
    stream.write(JSON.stringify({ ...line, names: [NAME], [NAME]: 1, msg: `Unknown ${NAME}` }));
    expect(text).not.toContain('\u202E');
    expect(text.split(SHOWN)).toHaveLength(7);
    expect(text).toContain('\u001b[32minfo \u001b[0m');
  });

  it('is shown in the faults of commands', () => {
    expect(describeFault(new UsageError(`Unknown command ${NAME}.`)).text).toContain(SHOWN);
    expect(describeFault(new Error(NAME)).text).toContain(SHOWN);
  });
});
