// Installs the packages of folders that have some of their own, where the lock file is newer than what is installed:
// `node scripts/packages.js test/docs ...`. What only a few commands need is installed by those commands.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How long an installation can take at most, in milliseconds. */
const LIMIT_MS = 600_000;

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
  if (isInstalled(folder)) return;
  const lock = join(folder, '.installing');
  takeLock(lock);
  try {
    // Another process may have installed them in the meantime.
    if (!isInstalled(folder)) install(folder);
  } finally {
    rmSync(lock, { force: true });
  }
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

/**
 * Waits until no other process installs: two at once remove each other's files.
 *
 * @param {string} lock
 */
function takeLock(lock) {
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isHeld(lock)) rmSync(lock, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
}

/**
 * Whether the process that took a lock still installs: one that is killed leaves its lock behind, and after some time
 * another process may have its id.
 *
 * @param {string} lock
 */
function isHeld(lock) {
  try {
    const age = Date.now() - statSync(lock).mtimeMs;
    const pid = Number(readFileSync(lock, 'utf8'));
    // Between its creation and its content a lock is empty.
    return age < (pid === 0 ? 1000 : LIMIT_MS) && process.kill(pid, 0);
  } catch (error) {
    // A lock that has just gone may be another's by now: it is looked at again.
    return error.code !== 'ESRCH';
  }
}

/** @param {string} path */
function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
