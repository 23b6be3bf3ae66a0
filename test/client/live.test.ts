import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { minifiedClient } from './timed-client.ts';

describe('the file', () => {
  test('is at most 4 KB minified', async () => {
    const minified = await minifiedClient();
    expect(Buffer.byteLength(minified)).toBeLessThanOrEqual(4096);
  });

  test('imports nothing', async () => {
    const minified = await minifiedClient();
    expect(minified).not.toMatch(/\bimport\b|\brequire\b/);
  });

  test('is of the right types in a page, where there is no Node', () => {
    const page =
      '--ignoreConfig --noEmit --strict --target es2022 --types --lib es2023,dom,dom.iterable';
    execFileSync('node_modules/.bin/tsc', [...page.split(' '), 'client/live.ts']);
  });
});
