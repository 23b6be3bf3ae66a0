import { crc32 } from 'node:zlib';
import type { Coding } from './codings.ts';
import { compressHead } from './compress.ts';

/** The compressed beginning of a body. */
interface EncodedHead {
  /** Its bytes, each as one character. */
  readonly bytes: string;
  /** CRC-32 of the beginning; 0 for codings without one. */
  readonly crc: number;
}

/** What a block that is not compressed can hold at most in every coding, in bytes. */
const MOST_STORED = 32 * 1024;

/**
 * The beginning of a body, compressed once for each coding, to which any short text is joined as a block that
 * is not compressed: Brotli, Zstandard and DEFLATE all have such blocks, which begin at a whole byte. So a body
 * of which a few characters change is compressed once, and sent many times at the cost of joining strings.
 * Implements: RFC 7932 section 9.2, RFC 8878 section 3.1.1.2, RFC 1951 section 3.2.4, RFC 1952 section 2.3.
 */
export class SplicedBody {
  readonly #head: string;
  readonly #encoded = new Map<Coding, EncodedHead>();
  #weight = 0;

  /**
   * `head` is in bytes, each as one character.
   * @throws RangeError for an empty one, for which Zstandard does not begin a frame.
   */
  constructor(head: string) {
    if (head.length === 0) throw new RangeError('nothing to compress');
    this.#head = head;
  }

  /** What its compressed forms take, in bytes. */
  get weight(): number {
    return this.#weight;
  }

  /** Whether a coding costs nothing more. */
  has(coding: Coding): boolean {
    return this.#encoded.has(coding);
  }

  /** Removes the form in a coding, to free memory. */
  forget(coding: Coding): void {
    this.#weight -= this.#encoded.get(coding)?.bytes.length ?? 0;
    this.#encoded.delete(coding);
  }

  /**
   * The whole body in a coding, head and rest, in bytes, each as one character.
   * @throws RangeError for a rest that is empty or above 32 KiB.
   */
  encoded(coding: Coding, rest: string): string {
    if (rest.length === 0 || rest.length > MOST_STORED) throw new RangeError('not a short text');
    const { bytes, crc } = this.#encoded.get(coding) ?? this.#encode(coding);
    if (coding === 'br') return bytes + brotliBlock(rest);
    if (coding === 'zstd') return bytes + zstdBlock(rest);
    return bytes + gzipEnd(rest, crc, this.#head.length + rest.length);
  }

  #encode(coding: Coding): EncodedHead {
    const plain = Buffer.from(this.#head, 'latin1');
    const encoded: EncodedHead = {
      bytes: compressHead(plain, coding).toString('latin1'),
      crc: coding === 'gzip' ? crc32(plain) : 0,
    };
    this.#encoded.set(coding, encoded);
    this.#weight += encoded.bytes.length;
    return encoded;
  }
}

/** A meta-block that is not compressed, and the empty one that is the last. */
function brotliBlock(text: string): string {
  // From the lowest bit: not the last, 16 bits of length, their number, and that it is not compressed.
  return `${number24(((text.length - 1) << 3) | (1 << 19))}${text}\x03`;
}

/** A raw block, which is the last. */
function zstdBlock(text: string): string {
  return number24((text.length << 3) | 1) + text;
}

/** A stored block, which is the last, and what ends each member of GZIP. */
function gzipEnd(text: string, crcBefore: number, allBytes: number): string {
  const crc = crc32(Buffer.from(text, 'latin1'), crcBefore);
  const { length } = text;
  return `\x01${number16(length)}${number16(~length)}${text}${number32(crc)}${number32(allBytes)}`;
}

/** Numbers as bytes, the lowest first, each as one character. */
function number16(value: number): string {
  return String.fromCharCode(value & 0xff, (value >>> 8) & 0xff);
}

function number24(value: number): string {
  return String.fromCharCode(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff);
}

function number32(value: number): string {
  return number16(value) + number16(value >>> 16);
}
