import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { LoopTurns } from '../socket/loop-turns.ts';

const PIECE_BYTES = 64 * 1024;

/** A file in memory while somebody reads it: all readers share its bytes, and the last of them lets them go. */
export class SharedFile {
  readonly #path: string;
  #bytes: Promise<Buffer> | null = null;
  #readers = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Answers with the file, in pieces and no faster than it is read: a piece is a view, so that a reader who does not
   * read holds no memory of ours. Many readers share the turns of the event loop, since the system takes megabytes
   * at once of each.
   *
   * @throws Error of the file system; nothing has been sent then.
   */
  async send(response: ServerResponse, turns: LoopTurns): Promise<void> {
    this.#bytes ??= readFile(this.#path);
    this.#readers += 1;
    response.once('close', () => this.#leave());
    stream(await this.#bytes, response, turns);
  }

  #leave(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.#bytes = null;
  }
}

function stream(bytes: Buffer, response: ServerResponse, turns: LoopTurns): void {
  response.setHeader('Content-Length', bytes.byteLength);
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
  const later = (): void => turns.run(next);
  later();
}
