import { defineConfig } from 'vitest/config';
import { usual } from '../vitest.config.ts';

/** `npm run bench [-- name ...]`: each bench is a file, alone on the machine while it runs. */
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    include: ['test/bench/**/*.bench.ts'],
    globalSetup: [new URL('report/setup.ts', import.meta.url).pathname],
    fileParallelism: false,
    testTimeout: 600_000,
  },
});
