import { constants, crc32, deflateRawSync } from 'node:zlib';

/** Bytes that are compressed as one block: what comes at once takes no longer than this takes. */
const BLOCK_BYTES = 16 * 1024;
/** Of less, a block that is not compressed is as short. */
const MIN_BLOCK_BYTES = 64;
const LEVEL = 6;

/** Deflate, no name, no time, no system: all that comes before the blocks. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
const LAST_BLOCK = Buffer.from([3, 0]);

/** Blocks by the bytes that they are made of, as long as those are referenced. */
const known = new WeakMap<Buffer, Buffer>();

/**
 * A body in GZIP that goes out in pieces, each of which can be read as soon as it has come. No piece refers to
 * one before it. So a stream holds no window, which is up to 256 KiB for each viewer otherwise, but 8 bytes; and
 * a piece that is sent to many is compressed once, if it is the same object each time.
 * Implements: RFC 1952 section 2.3, RFC 1951 section 3.2.4.
 */
export class GzipPieces {
  #crc = 0;
  #bytes = 0;
  #hasBegun = false;

  /** The next piece, which must not be changed any more. */
  piece(bytes: Buffer): Buffer {
    this.#crc = crc32(bytes, this.#crc);
    this.#bytes += bytes.length;
    const block = blockOf(bytes);
    if (this.#hasBegun) return block;
    this.#hasBegun = true;
    return Buffer.concat([HEADER, block]);
  }

  /** What ends the body. */
  end(): Buffer {
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#bytes % 2 ** 32, 4);
    const header = this.#hasBegun ? [] : [HEADER];
    return Buffer.concat([...header, LAST_BLOCK, trailer]);
  }
}

function blockOf(bytes: Buffer): Buffer {
  let block = known.get(bytes);
  if (!block) {
    block =
      bytes.length > BLOCK_BYTES ? Buffer.concat(slices(bytes).map(compressed)) : compressed(bytes);
    known.set(bytes, block);
  }
  return block;
}

function slices(bytes: Buffer): Buffer[] {
  const count = Math.ceil(bytes.length / BLOCK_BYTES);
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES),
  );
}

function compressed(bytes: Buffer): Buffer {
  if (bytes.length >= MIN_BLOCK_BYTES) {
    const block = deflateRawSync(bytes, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH });
    if (block.length < bytes.length) return block;
  }
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(~bytes.length & 0xffff, 3);
  return Buffer.concat([head, bytes]);
}
