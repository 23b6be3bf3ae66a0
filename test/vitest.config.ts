import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './support/longest-first.ts';
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
    expect: { poll: { timeout: 60_000 } },
  },
};

const all = ['test/**/*.test.ts'];
const weighed = ['history', 'live', 'soak'].map((name) => `test/soak/${name}.test.ts`);
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

const root = new URL('..', import.meta.url).pathname;

/** Every file in a folder of tests, without the packages installed there. */
const filesIn = (folder: string): string[] =>
  readdirSync(root + folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? filesIn(path) : [path];
    });

/** Files that say they need more than Node: a browser or built pages. */
const demanding = filesIn('test')
  .filter((path) => path.endsWith('.test.ts'))
  .filter((path) => /^describeWith\(/m.test(readFileSync(root + path, 'utf8')));

const support = (name: string): string[] => [new URL(`support/${name}`, import.meta.url).pathname];

/**
 * `npm test` runs the projects that need Node alone, `npm run test:rest` the one that `needs` more.
 */
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    // Two more than cores: while some wait for a socket, a process or a turn of their clock, others work.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      // In a process of its own: it weighs the heap.
      { name: 'alone', include: weighed, exclude: demanding },
      {
        name: 'needs',
        include: [...foreign, ...made, ...demanding],
        exclude: [theirs],
        globalSetup: support('build-all.ts'),
        isolate: false,
        maxWorkers: availableParallelism() + 1,
        sequence: { groupOrder: 1 },
      },
      // To load the gateway again costs each file a second, and nothing here outlives the file it is in.
      {
        name: 'together',
        include: all,
        exclude: [theirs, ...made, ...weighed, ...foreign, ...demanding],
        globalSetup: support('build-programs.ts'),
        isolate: false,
        // What runs for two minutes gains more from code that is compiled at once and optimized late, and from rare collections, than it pays.
        execArgv: ['--always-sparkplug', '--interrupt-budget=1000000', '--max-semi-space-size=64'],
      },
      // `extends: true` would load this file again for each project.
    ].map((project) => ({
      ...usual,
      test: { ...usual.test, setupFiles: support('setup.ts'), ...project },
    })),
  },
});
