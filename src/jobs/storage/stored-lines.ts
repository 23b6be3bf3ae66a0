import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { openStored } from './data-reader.ts';
import { JobStorageFailed, storageErrorOf } from './storage-errors.ts';

/** Bytes that are read at a time. */
const PIECE_BYTES = 64 * 1024;
const LINE_FEED = 10;
const RETURN = 13;
const BYTE_ORDER_MARK = /^\uFEFF/;

/** A place between two lines of a file: the number of lines before it, and its offset in bytes. */
export interface LinePlace {
  readonly line: number;
  readonly offset: number;
}

/** A line of a file without its line break. */
export interface StoredLine {
  /** Its number, from 1 on; empty lines count. */
  readonly line: number;
  /** The offset of the next line, in bytes: with `line` the place to continue at. */
  readonly end: number;
  /** `null` if it has a fault. */
  readonly text: string | null;
  readonly fault: 'TOO_LONG' | 'NOT_UTF8' | null;
}

/**
 * The lines of a file from a place to an offset, read as they are consumed: in memory there are a piece of 64 KiB and
 * one line. Lines end with LF or CRLF, the last one also with the file; a byte order mark is not a part of the first. A
 * line of more than `maxBytes` bytes has a fault instead of a text.
 * @throws JobStorageFailed if the file cannot be read, or is shorter.
 */
export async function* storedLines(
  path: string,
  from: LinePlace,
  to: number,
  maxBytes: number,
): AsyncGenerator<StoredLine, void> {
  if (from.offset >= to) return;
  const file = await openStored(path).catch((error: unknown) => {
    throw storageErrorOf(error);
  });
  try {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, to - from.offset));
    const line = new LineBuffer(maxBytes);
    let number = from.line;
    for (let at = from.offset; at < to; ) {
      const { bytesRead } = await read(file, piece, Math.min(piece.length, to - at), at);
      const bytes = piece.subarray(0, bytesRead);
      let start = 0;
      for (;;) {
        const stop = bytes.indexOf(LINE_FEED, start);
        if (stop < 0) break;
        number += 1;
        const end = at + stop + 1;
        yield { line: number, end, ...line.completed(bytes.subarray(start, stop), number === 1) };
        start = stop + 1;
      }
      line.add(bytes.subarray(start));
      at += bytesRead;
    }
    if (line.isBegun) yield { line: number + 1, end: to, ...line.completed(NONE, number === 0) };
  } finally {
    await file.close();
  }
}

const NONE = new Uint8Array();

type Text = Pick<StoredLine, 'fault' | 'text'>;

/** The pieces of one line. */
class LineBuffer {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isBegun(): boolean {
    return this.#bytes > 0;
  }

  /** Copies a part of the line; not beyond its limit. */
  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#bytes += bytes.length;
    if (this.#isTooLong) this.#pieces = [];
    else this.#pieces.push(Buffer.from(bytes));
  }

  /** The whole line with its last part; the next one begins. */
  completed(last: Uint8Array, isFirst: boolean): Text {
    this.#bytes += last.length;
    const whole = this.#isTooLong ? null : Buffer.concat([...this.#pieces, last]);
    this.#pieces = [];
    this.#bytes = 0;
    const bytes = whole?.at(-1) === RETURN ? whole.subarray(0, -1) : whole;
    if (!bytes || bytes.length > this.#maxBytes) return { text: null, fault: 'TOO_LONG' };
    if (!isUtf8(bytes)) return { text: null, fault: 'NOT_UTF8' };
    const text = bytes.toString('utf8');
    return { text: isFirst ? text.replace(BYTE_ORDER_MARK, '') : text, fault: null };
  }

  /** Even without a return at its end. */
  get #isTooLong(): boolean {
    return this.#bytes > this.#maxBytes + 1;
  }
}

/** @throws JobStorageFailed also for the end of the file. */
async function read(
  file: FileHandle,
  into: Buffer,
  bytes: number,
  at: number,
): Promise<{ readonly bytesRead: number }> {
  const { bytesRead } = await file.read(into, 0, bytes, at).catch((error: unknown) => {
    throw storageErrorOf(error);
  });
  if (bytesRead === 0) throw new JobStorageFailed('a file is too short');
  return { bytesRead };
}
