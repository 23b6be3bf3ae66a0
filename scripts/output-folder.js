import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Leaves alone what is the same already, and swaps the rest at once: a gateway that runs may read it now.
 *
 * @param {string} path
 * @param {string | Uint8Array} content
 */
export function write(path, content) {
  try {
    if (readFileSync(path).equals(Buffer.from(content))) return;
  } catch {
    mkdirSync(dirname(path), { recursive: true });
  }
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content);
  renameSync(draft, path);
}

/**
 * Removes the files below a folder that are not among those that were made.
 *
 * @param {string} folder
 * @param {(path: string) => boolean} isMade
 */
export function removeOthers(folder, isMade) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !isMade(path)) rmSync(path);
  }
}
