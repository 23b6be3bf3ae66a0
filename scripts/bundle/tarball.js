import { constants, gzipSync } from 'node:zlib';

const BLOCK = 512;
/** Of all files, as npm sets it: the same content has the same bytes. */
const MODIFIED = Date.UTC(1985, 9, 26, 8, 15) / 1000;

/**
 * A package as npm packs it: its files below `package/`, in a compressed archive whose bytes depend on them alone.
 *
 * @param {Iterable<readonly [path: string, content: string | Uint8Array]>} files
 */
export function tarball(files) {
  const entries = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  const blocks = entries.flatMap(([path, content]) => {
    const body = Buffer.from(content);
    return [header(`package/${path}`, body.length), body, Buffer.alloc(-body.length & (BLOCK - 1))];
  });
  const archive = Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
  const packed = gzipSync(archive, { level: constants.Z_BEST_COMPRESSION });
  // Instead of the operating system.
  packed[9] = 255;
  return packed;
}

/**
 * Implements: POSIX ustar.
 *
 * @param {string} path
 * @param {number} size
 */
function header(path, size) {
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long a name for an archive.`);
  const block = Buffer.alloc(BLOCK);
  /** @param {number} value @param {number} at @param {number} length */
  const octal = (value, at, length) =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at);
  block.write(path, 0);
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(MODIFIED, 136, 12);
  block.write(`${' '.repeat(8)}0`, 148);
  block.write('ustar\u000000', 257);
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}
