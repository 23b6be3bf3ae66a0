import { openOutput } from './data-reader.ts';

/** Identities that are lines as they are. Any other is written as JSON, which begins with a quotation mark. */
const PLAIN = /^[!#-~][ -~]*$/;

/** Identities of rows as lines. */
export function linesOfSeen(identities: readonly string[]): string {
  return identities.map((each) => `${PLAIN.test(each) ? each : JSON.stringify(each)}\n`).join('');
}

/**
 * The identities in the first bytes of a file, in their order, read as they are consumed.
 * @throws JobStorageFailed if it cannot be read, or is shorter.
 */
export async function* seenRows(path: string, bytes: number): AsyncGenerator<string, void> {
  const reader = await openOutput(path, bytes);
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const piece of reader.pieces(0, bytes)) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield line.startsWith('"') ? (JSON.parse(line) as string) : line;
    }
  } finally {
    await reader.close();
  }
}
