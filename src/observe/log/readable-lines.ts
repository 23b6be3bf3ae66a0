import { visibleText } from '../../visible-text.ts';
import { type LogStream, writeNow } from './logger.ts';

/** The members of every line, and of a line about a defect. */
interface LogLine extends Readonly<Record<string, unknown>> {
  readonly level: string;
  readonly time: string;
  readonly msg?: string;
  readonly error?: { readonly message?: string; readonly stack?: readonly string[] };
}

/** How levels look in a terminal that shows colors. */
const colors: Readonly<Record<string, number>> = { error: 31, warn: 33, info: 32, debug: 36 };
const DIM = 2;

/**
 * Lets a person read the log: `12:30:05 warn  upstream failed  upstream=LINKS code=UPSTREAM_TIMEOUT`, and the lines
 * of a stack below. For a terminal; programs read the lines as they are.
 */
export function readableLines(
  stream: LogStream,
  options: { readonly color: boolean },
): Required<LogStream> {
  const paint = (code: number, text: string): string =>
    options.color && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text;
  const readable = (line: string): string => {
    const { level, msg = '', time, error, ...facts } = JSON.parse(line) as LogLine;
    const { message, stack = [] } = error ?? {};
    const clock = new Date(time).toTimeString().slice(0, 8);
    const shown = message === undefined ? facts : { ...facts, error: message };
    const words = [
      paint(DIM, clock),
      paint(colors[level] ?? DIM, level.padEnd(5)),
      visibleText(msg),
      paint(DIM, visibleText(pairs(shown).join(' '))),
    ];
    const lines = [words.filter((word) => word !== '').join(' ')];
    return `${[...lines, ...stack.map((at) => `    ${visibleText(at)}`)].join('\n')}\n`;
  };
  return {
    write: (line) => stream.write(readable(line)),
    writeNow: (line) => writeNow(stream, readable(line)),
  };
}

/** Facts as `name=value`, those inside others by both names. */
function pairs(facts: object, before = ''): string[] {
  return Object.entries(facts).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return pairs(value, `${before}${name}.`);
    }
    return [`${before}${name}=${Array.isArray(value) ? value.join(',') : String(value)}`];
  });
}
