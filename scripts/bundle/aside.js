import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { client, pages, server, sourcesOf } from './products.js';

/** What a build loads, and an installation without development packages lacks. */
const TOOLS = ['rolldown', 'vite', 'react'];

/** Whether what a build needs is installed here. */
export function canBuild() {
  return TOOLS.every((name) => existsSync(join('node_modules', name, 'package.json')));
}

/**
 * Builds everything if the packages for it are not installed, as after `npm ci --omit=dev`: in a temporary folder
 * with these packages.
 *
 * @throws {Error} When npm cannot install them, or the build fails.
 */
export function buildAside() {
  process.stderr.write(
    'dist is not built of these sources, and what builds it is not installed here: this once, it is installed aside\n',
  );
  mkdirSync(server.folder, { recursive: true });
  // Next to its output: on the same disk, and a later build removes what a killed one has left.
  const folder = mkdtempSync(join(server.folder, 'aside-'));
  try {
    for (const path of [...new Set([server, pages, client].flatMap(sourcesOf)), '.npmrc']) {
      cpSync(path, join(folder, path), { recursive: true });
    }
    install(folder);
    for (const script of ['build.js', 'build-pages.js']) {
      // Standard output is the command's that is started next.
      const stdio = /** @type {const} */ (['ignore', 2, 2]);
      execFileSync(process.execPath, [join('scripts', script)], { cwd: folder, stdio });
    }
    // Its stamps hold here too: they name the same sources.
    for (const name of readdirSync(server.folder)) {
      if (name !== basename(folder)) rmSync(join(server.folder, name), { recursive: true });
    }
    for (const name of readdirSync(join(folder, server.folder))) {
      renameSync(join(folder, server.folder, name), join(server.folder, name));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * npm's own report would be a page long; usually there is no network.
 *
 * @param {string} cwd
 */
function install(cwd) {
  const args = ['ci', '--include=dev', '--loglevel=error'];
  const stdio = /** @type {const} */ (['ignore', 'ignore', 'pipe']);
  const { status, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8', stdio });
  if (status === 0) return;
  const reason = /^npm error code (\S+)/m.exec(stderr)?.[1] ?? `status ${status}`;
  throw new Error(
    `Not started: dist is not built, and npm cannot install what builds it (${reason}). Bring dist from where \`npm ci && npm run build\` ran.`,
  );
}
