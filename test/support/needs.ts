import { existsSync, readdirSync } from 'node:fs';
import { describe } from 'vitest';

/** A program, or a folder of packages, that some tests need and that a machine may lack. */
export interface Tool {
  readonly name: string;
  readonly path: string;
  readonly install: string;
}

/** Debian's browser, for tests that look at a page. */
export const chromium: Tool = {
  name: 'chromium',
  path: '/usr/bin/chromium',
  install: 'apt-get install -y --no-install-recommends chromium',
};

/** PostgreSQL, for tests of two machines. */
export const postgresServer: Tool = {
  name: 'postgresql',
  path: postgresPath(),
  install: 'apt-get install -y --no-install-recommends postgresql',
};

/** Limits the sizes of files, for tests of a full disk. */
export const prlimit: Tool = {
  name: 'prlimit',
  path: '/usr/bin/prlimit',
  install: 'apt-get install -y --no-install-recommends util-linux',
};

/** What browsers load, for tests of how it is sent. */
export const builtPages: Tool = {
  name: 'the pages for browsers',
  path: 'dist/pages/made-from',
  install: 'npm run build',
};

/** What the app in `examples/dashboard` is built with. */
export const dashboardPackages: Tool = {
  name: 'the packages of examples/dashboard',
  path: 'examples/dashboard/node_modules/vite',
  install: 'npm ci --prefix examples/dashboard',
};

/**
 * `describe` for tests that need a program, or several: a file that calls it is not run by `npm test`, but by
 * `npm run test:rest`. Where one is missing they are skipped, and the output says
 * which and how to get it; with `CI=true` they run and fail instead, so that nothing goes untested unseen.
 */
export function describeWith(
  tools: Tool | readonly Tool[],
  title: string,
  tests: () => void,
): void {
  const tool = [tools].flat().find(({ path }) => !existsSync(path));
  if (!tool || process.env['CI'] === 'true') {
    describe(title, tests);
    return;
  }
  process.stderr.write(`skipped: ${title} needs ${tool.name}: ${tool.install}\n`);
  describe.skip(`${title} (needs ${tool.name}: ${tool.install})`, tests);
}

/** Debian keeps each version in a folder of its own. */
function postgresPath(): string {
  const root = '/usr/lib/postgresql';
  const newest = existsSync(root) ? readdirSync(root).toSorted().at(-1) : undefined;
  return `${root}/${newest ?? '0'}/bin/postgres`;
}
