import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** What holds for tests and benches. */
export const usual = {
  resolve: {
    // Vite would take graphql's ES modules and the libraries, through Node, its CommonJS ones: two
    // realms that do not know each other's errors and types. Node alone never sees but one.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    root: new URL('..', import.meta.url).pathname,
    // A test that hangs must end; how fast the others are is a matter of the machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
};

const programs = ['test/e2e/**/*.test.ts'];
const weighed = ['test/soak/**/*.test.ts'];

/** Projects start in the order of their names, so those that wait the most begin first. */
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    maxWorkers: availableParallelism(),
    projects: [
      // In a process of its own: it weighs the heap.
      { extends: true, test: { name: 'alone', include: weighed } },
      {
        extends: true,
        test: {
          name: 'built',
          include: programs,
          globalSetup: [new URL('support/build.ts', import.meta.url).pathname],
          isolate: false,
        },
      },
      // To load the gateway anew costs each file a second, and nothing here outlives the file it is in.
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...programs, ...weighed],
          // Pages for browsers are there only once they are built.
          globalSetup: [new URL('support/build.ts', import.meta.url).pathname],
          isolate: false,
        },
      },
    ],
  },
});
