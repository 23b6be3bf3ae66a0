import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
// @ts-expect-error: a script has no types.
import { directValues } from '../../scripts/direct-values.js';
import { tempFolder } from '../support/folder.ts';

type Step = (value?: unknown) => unknown;
interface Helpers {
  readonly handleMaybePromise: (begin: Step, use: Step, useError?: Step, last?: Step) => unknown;
  readonly fakePromise: (value: unknown) => unknown;
  readonly fakeRejectPromise: (error: unknown) => unknown;
}

const library = createRequire(import.meta.url)
  .resolve('@whatwg-node/promise-helpers')
  .replace('/cjs/', '/esm/');
const folder = tempFolder();

async function built(): Promise<Helpers> {
  const file = join(folder, 'helpers.mjs');
  const { transform } = directValues as {
    readonly transform: (code: string, id: string) => { readonly code: string } | null;
  };
  writeFileSync(file, transform(readFileSync(library, 'utf8'), library)?.code ?? '');
  return (await import(pathToFileURL(file).href)) as Helpers;
}

/** Every way in which a step can end, by name. */
const steps = ({ fakePromise, fakeRejectPromise }: Helpers): Record<string, Step> => ({
  value: (given) => `value of ${String(given)}`,
  nothing: () => undefined,
  throws: (given) => {
    throw new Error(`thrown at ${String(given)}`);
  },
  promise: (given) => Promise.resolve(`promise of ${String(given)}`),
  rejects: (given) => Promise.reject(new Error(`rejected at ${String(given)}`)),
  thenable: (given) => thenable(`thenable of ${String(given)}`),
  fake: (given) => fakePromise(`fake of ${String(given)}`),
  fakeRejection: (given) => fakeRejectPromise(new Error(`fake at ${String(given)}`)),
});

/** What passes for a promise without being one. */
function thenable(value: string): object {
  // oxlint-disable-next-line unicorn/no-thenable
  return Object.fromEntries([['then', (use: Step) => use(value)]]);
}

/** What comes out of some steps, and whether it came at once. */
async function outcomeOf(
  helpers: Helpers,
  [begin, use, useError, last]: readonly (string | null)[],
): Promise<string> {
  const all = steps(helpers);
  const named = (name: string | null | undefined): Step | undefined =>
    name === null || name === undefined ? undefined : all[name];
  let atOnce = true;
  try {
    const value = helpers.handleMaybePromise(
      named(begin) as Step,
      named(use) as Step,
      named(useError),
      named(last),
    );
    atOnce = typeof (value as { readonly then?: unknown } | undefined)?.then !== 'function';
    return `${atOnce} ${String(await value)}`;
  } catch (error) {
    return `${atOnce} ${String(error)}`;
  }
}

it('A step of Yoga in the build ends as its library has it, at once or later', async () => {
  const [own, original] = [await built(), (await import(pathToFileURL(library).href)) as Helpers];
  expect(String(own.handleMaybePromise)).not.toBe(String(original.handleMaybePromise));
  const names = Object.keys(steps(original));
  const cases = names.flatMap((begin) =>
    names.flatMap((use) =>
      [null, ...names].flatMap((useError) =>
        [null, 'value', 'throws'].map((last) => [begin, use, useError, last] as const),
      ),
    ),
  );
  for (const each of cases) {
    expect(await outcomeOf(own, each), each.join()).toBe(await outcomeOf(original, each));
  }
});
