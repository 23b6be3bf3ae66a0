import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The files below a folder whose paths match, without installed packages. */
export function filesBelow(folder: string, wanted: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => wanted.test(path) && !path.includes('node_modules'));
}
