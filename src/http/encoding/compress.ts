import * as zlib from 'node:zlib';
import type { Coding } from './codings.ts';

/** Bodies up to this size, in bytes, go out as they are: headers and packets cost more than is saved. */
export const MIN_BYTES = 1024;

/** Whether the same bytes are sent once, or kept and sent again: more time is worth while for those. */
type Use = 'once' | 'kept';

/**
 * Up to how many bytes each level is used, measured on JSON so that none takes more than about a millisecond
 * for each 100 kB: 5 kB take 25 µs once and 45 µs to keep, 60 kB 0.3 and 0.7 ms.
 */
const LEVELS: Readonly<Record<Use, readonly (readonly [maxBytes: number, level: Level])[]>> = {
  once: [
    [64 * 1024, { br: 3, gzip: 3, zstd: 1 }],
    [Number.POSITIVE_INFINITY, { br: 1, gzip: 1, zstd: 1 }],
  ],
  kept: [
    [64 * 1024, { br: 5, gzip: 6, zstd: 6 }],
    [256 * 1024, { br: 3, gzip: 3, zstd: 3 }],
    [Number.POSITIVE_INFINITY, { br: 1, gzip: 1, zstd: 1 }],
  ],
};
type Level = Readonly<Record<Coding, number>>;

/** The window of Brotli, as a power of two: a decoder has to have as much memory. */
const BROTLI_WINDOW = 18;

/** Missing in Node 20, whose types are used for checks. */
const zstd = zlib as unknown as {
  readonly zstdCompress: typeof zlib.brotliCompress;
  readonly zstdCompressSync: typeof zlib.brotliCompressSync;
};
const { constants } = zlib;
const ZSTD_LEVEL = 100;

function levelOf(bytes: number, coding: Coding, use: Use): number {
  const [, level] = LEVELS[use].find(([maxBytes]) => bytes <= maxBytes) ?? [];
  return level?.[coding] ?? 1;
}

function brotliOptions(level: number, bytes: number): zlib.BrotliOptions {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: level,
      [constants.BROTLI_PARAM_LGWIN]: BROTLI_WINDOW,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
    },
  };
}

function zstdOptions(level: number): zlib.BrotliOptions {
  return { params: { [ZSTD_LEVEL]: level } };
}

/** Compresses a whole body, now. */
export function compress(bytes: Buffer, coding: Coding, use: Use): Buffer {
  const level = levelOf(bytes.length, coding, use);
  if (coding === 'br') return zlib.brotliCompressSync(bytes, brotliOptions(level, bytes.length));
  if (coding === 'zstd') return zstd.zstdCompressSync(bytes, zstdOptions(level));
  return zlib.gzipSync(bytes, { level });
}

/** The forms of bodies that are sent many times, for as long as the body is there. */
const shared = new WeakMap<Buffer, Map<Coding, Buffer>>();

/** Says that a body will be sent many times, as the same object: it is compressed once for each coding. */
export function keepCompressed(bytes: Buffer): Buffer {
  shared.set(bytes, new Map());
  return bytes;
}

/** The form of a body that is sent many times; `null` of any other. */
export function keptForm(bytes: Buffer, coding: Coding): Buffer | null {
  const forms = shared.get(bytes);
  if (!forms) return null;
  const form = forms.get(coding) ?? compress(bytes, coding, 'kept');
  forms.set(coding, form);
  return form;
}

/** Bodies that are compressed on other threads at a time: those are also needed for names and files. */
const MOST_AT_A_TIME = 2;
let running = 0;

/**
 * Compresses a large body on another thread. If many compressions are running, it is compressed now, at the
 * fastest level: no queue holds bodies. `done` is called with null if it cannot be compressed.
 */
export function compressLarge(
  bytes: Buffer,
  coding: Coding,
  done: (encoded: Buffer | null) => void,
): void {
  if (running >= MOST_AT_A_TIME) {
    done(compress(bytes, coding, 'once'));
    return;
  }
  running += 1;
  const settle = (error: Error | null, encoded: Buffer): void => {
    running -= 1;
    done(error ? null : encoded);
  };
  const level = levelOf(0, coding, 'once');
  if (coding === 'br') zlib.brotliCompress(bytes, brotliOptions(level, bytes.length), settle);
  else if (coding === 'zstd') zstd.zstdCompress(bytes, zstdOptions(level), settle);
  else zlib.gzip(bytes, { level }, settle);
}
