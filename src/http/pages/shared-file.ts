import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { loopTurns } from '../../scheduling/loop-turns.ts';
import type { SendBody } from '../respond.ts';

const PIECE_BYTES = 64 * 1024;

/** A file in memory while it is read: all readers share its bytes, and the last of them lets them go. */
export class SharedFile {
  readonly #path: string;
  #bytes: Promise<Buffer> | null = null;
  #readers = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Its bytes, for as long as a response is open.
   * @throws Error of the file system.
   */
  bytesFor(response: ServerResponse): Promise<Buffer> {
    this.#bytes ??= readFile(this.#path);
    this.#readers += 1;
    response.once('close', () => this.#leave());
    return this.#bytes;
  }

  #leave(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.#bytes = null;
  }
}

/**
 * Sends a body in pieces, no faster than it is read: a piece is a view, so a client that does not read holds no
 * memory. Many clients share the turns of the event loop, because the system accepts megabytes at once from each.
 */
export const inPieces: SendBody = (response, body) => {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  let start = 0;
  const next = (): void => {
    if (response.destroyed) return;
    const piece = bytes.subarray(start, start + PIECE_BYTES);
    start += piece.byteLength;
    if (start >= bytes.byteLength) response.end(piece);
    else if (response.write(piece)) later();
    // Which can be in this very turn.
    else response.once('drain', later);
  };
  const later = (): void => loopTurns.run(next);
  later();
};
