// Installs the packages of folders that have some of their own, where the lock file is newer than what is installed:
// `node scripts/packages.js test/docs ...`. What only a few commands need is installed by those commands.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    for (const folder of process.argv.slice(2)) installPackages(folder);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/**
 * @param {string} folder
 * @throws Error when npm cannot install them.
 */
export function installPackages(folder) {
  if (!isInstalled(folder)) install(folder);
}

/** @param {string} folder */
function isInstalled(folder) {
  // npm writes it last.
  const installed = changedAt(join(folder, 'node_modules', '.package-lock.json'));
  return installed > changedAt(join(folder, 'package-lock.json'));
}

/** @param {string} folder */
function install(folder) {
  process.stderr.write(`installing the packages of ${folder}\n`);
  const { status } = spawnSync('npm', ['ci', '--include=dev', '--loglevel=error'], {
    cwd: folder,
    // Standard output is the command's that needs them.
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error(`the packages of ${folder} are not installed: see above`);
}

/** @param {string} path */
function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
