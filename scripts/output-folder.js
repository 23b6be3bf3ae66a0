import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** The name of an incomplete file ends with the ID of its process and this. */
const DRAFT = '.draft';

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
  const draft = `${path}.${process.pid}${DRAFT}`;
  writeFileSync(draft, content);
  renameSync(draft, path);
}

/**
 * Removes the files below a folder that are not among those that were made, and the folders that this leaves empty.
 *
 * @param {string} folder
 * @param {(path: string) => boolean} isMade
 */
export function removeOthers(folder, isMade) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeOthers(path, isMade);
    else if (!isMade(path) && !isBeingWritten(path)) rmSync(path, { force: true });
  }
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}

/**
 * Whether a process that runs writes it: two builds at once are to leave each other's files alone.
 *
 * @param {string} path
 */
function isBeingWritten(path) {
  if (!path.endsWith(DRAFT)) return false;
  try {
    return process.kill(Number(path.slice(0, -DRAFT.length).split('.').at(-1)), 0);
  } catch {
    return false;
  }
}
