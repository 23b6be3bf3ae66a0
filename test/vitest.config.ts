import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { rounds } from './support/rounds.ts';

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
    testTimeout: rounds(120_000),
    hookTimeout: 120_000,
  },
};

const all = ['test/**/*.test.ts'];
const weighed = ['test/soak/**/*.test.ts'];
const programs = ['test/e2e/**/*.test.ts'];
/** Clients of others, as the documentation has them. */
const foreign = ['test/docs/**/*.test.ts'];
/** What is made of the build, for users: an image, a package on each Node, and a release. */
const made = [
  'test/e2e/dockerfile.test.ts',
  'test/e2e/package/**/*.test.ts',
  'test/release/**/*.test.ts',
];

/** Of packages that only some tests need. */
const theirs = '**/node_modules/**';

/** Processes that are watched for minutes, in their own time. */
const replicas = ['test/e2e/replicas/**/*.test.ts'];

const root = new URL('..', import.meta.url).pathname;

/** Files that say they need more than Node: a browser, a Redis or built pages. */
const demanding = readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
  .map((path) => `test/${path.replaceAll('\\', '/')}`)
  .filter((path) => /^describeWith\(/m.test(readFileSync(root + path, 'utf8')));

const setup = (name: string): string[] => [new URL(`support/${name}`, import.meta.url).pathname];

/**
 * `npm test` runs the projects that need Node alone, `npm run test:rest` those whose names begin with `needs`.
 * Projects start in the order of their names, so those that wait the most begin first.
 */
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    // One more than cores: while one waits for a socket or a process, another works.
    maxWorkers: availableParallelism() + 1,
    projects: [
      // In a process of its own: it weighs the heap.
      { extends: true, test: { name: 'alone', include: weighed } },
      {
        extends: true,
        test: {
          name: 'built',
          include: programs,
          exclude: [theirs, ...made, ...demanding, ...replicas],
          globalSetup: setup('build-programs.ts'),
          isolate: false,
        },
      },
      ...[
        { name: 'needs-1-replicas', include: replicas, exclude: [theirs] },
        {
          name: 'needs-2-clients',
          include: foreign,
          exclude: [theirs],
          globalSetup: [...setup('packages.ts'), ...setup('build-all.ts')],
        },
        {
          name: 'needs-3-more',
          include: [...made, ...demanding],
          exclude: [theirs, ...foreign, ...replicas],
        },
      ].map((project) => ({
        extends: true as const,
        test: {
          globalSetup: setup('build-all.ts'),
          ...project,
          isolate: false,
          // A machine that stops for a second ends a lease, and a look at Redis is a miss then, as it should be.
          retry: 1,
        },
      })),
      // To load the gateway anew costs each file a second, and nothing here outlives the file it is in.
      {
        extends: true,
        test: {
          name: 'together',
          include: all,
          exclude: [theirs, ...programs, ...made, ...weighed, ...foreign, ...demanding],
          isolate: false,
        },
      },
    ],
  },
});
