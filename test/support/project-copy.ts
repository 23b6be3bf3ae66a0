import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a clone does not have, and what only some tests install. */
const LEFT_OUT = /(^|\/)(\.git|dist|node_modules|coverage|state)$/;

/** This project as it is cloned, with its packages installed, in a temporary folder. */
export interface ProjectCopy {
  readonly folder: string;
  readonly remove: () => void;
}

/** Copies it. Packages are links where the file system can: they are hundreds of megabytes. */
export function copyProject(): ProjectCopy {
  const folder = mkdtempSync(join(tmpdir(), 'project-'));
  for (const name of readdirSync('.').filter((each) => !LEFT_OUT.test(each))) {
    const filter = (path: string): boolean => !LEFT_OUT.test(path);
    cpSync(name, join(folder, name), { recursive: true, filter });
  }
  const script = 'cp -al node_modules "$0" 2>/dev/null || cp -a node_modules "$0"';
  execFileSync('sh', ['-c', script, folder]);
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}
