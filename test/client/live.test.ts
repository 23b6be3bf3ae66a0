import { describe, expect, test } from 'vitest';
import { minifiedClient } from './timed-client.ts';

describe('live alone', () => {
  test('is at most 4 KB minified', async () => {
    const minified = await minifiedClient('live.ts');
    expect(Buffer.byteLength(minified)).toBeLessThanOrEqual(4096);
  });

  test('imports nothing', async () => {
    const minified = await minifiedClient('live.ts');
    expect(minified).not.toMatch(/\bimport\b|\brequire\b/);
  });
});
