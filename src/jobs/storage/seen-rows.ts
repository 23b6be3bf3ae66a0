import { storedLines } from './stored-lines.ts';

/** Identities that are lines as they are. Any other is written as JSON, which begins with a quotation mark. */
const PLAIN = /^[!#-~][ -~]*$/;

/** Identities of rows as lines. */
export function linesOfSeen(identities: readonly string[]): string {
  return identities.map((each) => `${PLAIN.test(each) ? each : JSON.stringify(each)}\n`).join('');
}

/**
 * The identities in the first bytes of a file, in their order, read as they are consumed.
 * @throws JobStorageFailed if it cannot be read.
 */
export async function* seenRows(path: string, bytes: number): AsyncGenerator<string, void> {
  for await (const { text } of storedLines(path, { line: 0, offset: 0 }, bytes, Infinity)) {
    if (text) yield text.startsWith('"') ? (JSON.parse(text) as string) : text;
  }
}
