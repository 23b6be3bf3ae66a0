// What the scripts of package.json do before they run what is in `dist`: builds the server if its sources changed, and
// with `--pages` lets the pages for browsers be built while it runs, which takes seconds more.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { client, isBuilt, pages, server } from './bundle/products.js';

/** What a build loads, and an installation without development packages lacks. */
const TOOLS = ['rolldown', 'vite', 'react'];

const wanted = process.argv.includes('--pages') ? [server, pages, client] : [server];
const stale = wanted.filter((product) => !isBuilt(product));

try {
  if (stale.length > 0) {
    if (!TOOLS.every((name) => existsSync(join('node_modules', name, 'package.json')))) {
      throw new Error(
        'Not started: dist is not built, and what builds it is not installed. Run npm ci --include=dev && npm run build, or bring dist from where that ran.',
      );
    }
    if (stale.includes(server)) await import('./bundle/server.js');
    if (stale.includes(pages)) removeDocuments();
    if (stale.includes(pages) || stale.includes(client)) buildPages();
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** Until they are there again, the server instructs browsers to reload. */
function removeDocuments() {
  mkdirSync(pages.folder, { recursive: true });
  for (const name of readdirSync(pages.folder).filter((each) => each.endsWith('.html'))) {
    rmSync(join(pages.folder, name));
  }
}

/** Continues after this process has ended. */
function buildPages() {
  const child = spawn(process.execPath, ['scripts/build-pages.js'], {
    // Readers of the server's output do not wait for it.
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  child.unref();
}
