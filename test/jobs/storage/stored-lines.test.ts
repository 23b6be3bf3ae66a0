import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { type StoredLine, storedLines } from '../../../src/jobs/storage/stored-lines.ts';
import { anyText } from '../../support/any-text.ts';
import { rounds } from '../../support/rounds.ts';
import { chunksOf, folderAt, openFilesIn, removeScratch, scratch } from './job-stage.ts';

afterEach(removeScratch);

const MAX = 70_000;

async function linesOf(bytes: Buffer, from = { line: 0, offset: 0 }): Promise<StoredLine[]> {
  const path = join(scratch(), 'input.jsonl');
  writeFileSync(path, bytes);
  const lines: StoredLine[] = [];
  for await (const each of storedLines(path, from, bytes.length, MAX)) lines.push(each);
  return lines;
}

/** Each line with its break, so that it is known what is expected. */
interface Written {
  readonly text: string;
  readonly end: '\n' | '\r\n';
}

const anyLength = fc.constantFrom(
  0,
  1,
  65_534,
  65_535,
  65_536,
  MAX - 1,
  MAX,
  MAX + 1,
  MAX + 2,
  2 * MAX,
);
const anyWritten: fc.Arbitrary<Written> = fc.record({
  text: fc.oneof(
    { weight: 3, arbitrary: anyText(20).map((text) => text.replace(/[\r\n]|^\uFEFF/g, '')) },
    { weight: 1, arbitrary: anyLength.map((length) => 'x'.repeat(length)) },
  ),
  end: fc.constantFrom('\n', '\r\n'),
});

describe('the lines of a file', () => {
  it('are those that were written, from every place on', async () => {
    const cases = fc.tuple(fc.array(anyWritten, { maxLength: 12 }), fc.boolean(), fc.nat());
    await fc.assert(
      fc.asyncProperty(cases, async ([written, hasLast, at]) => {
        const whole = written.map(({ end, text }) => text + end).join('');
        const text = hasLast ? whole : whole.replace(/\r?\n$/, '');
        const found = await linesOf(Buffer.from(text));
        const expected = written.map(({ text: line }) =>
          Buffer.byteLength(line) > MAX
            ? { text: null, fault: 'TOO_LONG' }
            : { text: line, fault: null },
        );
        // A last line without a break and without a character is none.
        if (!hasLast && written.at(-1)?.text === '') expected.pop();
        expect(found.map(({ fault, text: line }) => ({ text: line, fault }))).toEqual(expected);
        expect(found.map(({ line }) => line)).toEqual(found.map((_, index) => index + 1));
        const start = found.at(at % Math.max(1, found.length));
        if (!start) return;
        const rest = await linesOf(Buffer.from(text), { line: start.line, offset: start.end });
        expect(rest).toEqual(found.slice(start.line));
      }),
      { numRuns: rounds(100) },
    );
  });

  it('can begin with a byte order mark, which is no part of the first', async () => {
    const texts = (await linesOf(Buffer.from('\uFEFF1\n\uFEFF2'))).map(({ text }) => text);
    expect(texts).toEqual(['1', '\uFEFF2']);
  });

  it('that are not UTF-8 have a fault, and the others none', async () => {
    const bytes = Buffer.concat([
      Buffer.from('1\n'),
      Buffer.from([0xc3, 0x28, 10]),
      Buffer.from('3'),
    ]);
    expect(await linesOf(bytes)).toEqual([
      { line: 1, end: 2, text: '1', fault: null },
      { line: 2, end: 5, text: null, fault: 'NOT_UTF8' },
      { line: 3, end: 6, text: '3', fault: null },
    ]);
  });

  it('are read with a file that is closed when the reader leaves', async () => {
    const folder = scratch();
    const path = join(folder, 'input.jsonl');
    writeFileSync(path, '1\n2\n');
    for await (const { text } of storedLines(path, { line: 0, offset: 0 }, 4, MAX)) {
      expect([text, openFilesIn(folder)]).toEqual(['1', [path]]);
      break;
    }
    expect(openFilesIn(folder)).toEqual([]);
  });

  it('are an error if the file is shorter than it was', async () => {
    const path = join(scratch(), 'input.jsonl');
    writeFileSync(path, '1\n');
    const read = async () => {
      for await (const _ of storedLines(path, { line: 0, offset: 0 }, 4, MAX));
    };
    await expect(read()).rejects.toThrow(/too short/);
  });
});

describe('the lines of an input', () => {
  it('are counted with blank ones, which are skipped', async () => {
    const text = '\n{"a":1}\r\n \t\r\n\n{"a":2}';
    const input = { chunks: chunksOf(text), maxBytes: 100 };
    const files = await folderAt(scratch()).create('a', { mark: 'new' }, input);
    const lines: unknown[] = [];
    for await (const { end, line, text: its } of files.inputLines()) lines.push([line, its, end]);
    expect(lines).toEqual([
      [2, '{"a":1}', 10],
      [5, '{"a":2}', 22],
    ]);
  });

  it('are read in little memory, however long one is', async () => {
    const megabyte = Buffer.alloc(2 ** 20, 'x');
    async function* chunks() {
      for (let count = 0; count < 100; count += 1) yield megabyte;
      yield Buffer.from('\nlast\n');
    }
    const input = { chunks: chunks(), maxBytes: 2 ** 30 };
    const files = await folderAt(scratch()).create('a', { mark: 'new' }, input);
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }, 1);
    const found: unknown[] = [];
    for await (const { fault, text } of files.inputLines()) found.push(text ?? fault);
    clearInterval(timer);
    expect(found).toEqual(['TOO_LONG', 'last']);
    expect(most).toBeLessThan(8 * 2 ** 20);
  });
});
