import { existsSync } from 'node:fs';
import { describe } from 'vitest';

/** A program that some tests need and that a machine may lack. */
interface Tool {
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

/** Redis, for tests of several replicas. */
export const redisServer: Tool = {
  name: 'redis-server',
  path: '/usr/bin/redis-server',
  install: 'apt-get install -y --no-install-recommends redis-server',
};

/**
 * `describe` for tests that need a program. Where it is missing they are skipped, and the output says
 * which and how to get it; with `CI=true` they run and fail instead, so that nothing goes untested unseen.
 */
export function describeWith(tool: Tool, title: string, tests: () => void): void {
  if (existsSync(tool.path) || process.env['CI'] === 'true') {
    describe(title, tests);
    return;
  }
  process.stderr.write(`skipped: ${title} needs ${tool.name}: ${tool.install}\n`);
  describe.skip(`${title} (needs ${tool.name}: ${tool.install})`, tests);
}
