import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Coding } from './codings.ts';

/** Bodies up to this size, in bytes, go out as they are: headers and packets cost more than is saved. */
export const MIN_BYTES = 1024;

/** A larger body is compressed at the fastest level, in bytes: it takes about a millisecond for each 100 kB. */
const MAX_SMALL_BYTES = 64 * 1024;
/** The level for what is compressed once and sent many times. */
const SHARED_LEVEL = 5;

/** The window of Brotli, as a power of two: a decoder has to have as much memory. */
const BROTLI_WINDOW = 18;

/** Compresses a whole body, now. `level`: of Brotli and of gzip. */
export function compress(
  bytes: Buffer,
  coding: Coding,
  level = bytes.length > MAX_SMALL_BYTES ? 1 : 3,
): Buffer {
  if (coding === 'gzip') return gzipSync(bytes, { level });
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: level,
      [constants.BROTLI_PARAM_LGWIN]: BROTLI_WINDOW,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

/** The forms of bodies that are sent many times, for as long as the body is there. */
const shared = new WeakMap<Buffer, Map<Coding, Buffer>>();

/** Says that a body will be sent many times, as the same object: it is compressed once for each coding. */
export function keepCompressed(bytes: Buffer): Buffer {
  shared.set(bytes, new Map());
  return bytes;
}

/** A whole body in a coding: one that is sent many times is compressed for the first of them. */
export function compressed(bytes: Buffer, coding: Coding): Buffer {
  const forms = shared.get(bytes);
  if (!forms) return compress(bytes, coding);
  const form = forms.get(coding) ?? compress(bytes, coding, SHARED_LEVEL);
  forms.set(coding, form);
  return form;
}
