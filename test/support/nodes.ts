import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import type { Tool } from './needs.ts';

/** A version of Node that users may have. */
interface NodeVersion extends Tool {
  readonly version: string;
  /** Where its program is, to come first in `PATH`. */
  readonly folder: string;
}

/** The oldest Node that `package.json` allows, and each that came with long support after it. */
export const versions = ['20.19', '22', '24', '26'];

/** Fetches each of them, unless npm has it: where that fails, its tests are skipped as those without a program are. */
export function supportedNodes(wanted: readonly string[] = versions): NodeVersion[] {
  return wanted.map((version) => {
    const args = ['-y', '-p', `node@${version}`, '-c', 'command -v node'];
    const { stdout } = spawnSync('npx', args, { encoding: 'utf8' });
    const path = stdout.trim() || `node@${version}`;
    const install = `npx ${args.slice(0, 3).join(' ')} node --version`;
    return { version, folder: dirname(path), name: `Node ${version}`, path, install };
  });
}
