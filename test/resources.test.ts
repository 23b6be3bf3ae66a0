import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { resourceNames } from '../src/resources.ts';
import type { Read } from '../src/upstream/request.ts';

/** What the nouns say that their reads and lists are of. */
const used = ['src/links', 'src/market'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => [
      ...readFileSync(join(folder, path), 'utf8').matchAll(/\bresource: '(\w+)'/g),
    ])
    .map(([, name]) => name ?? ''),
);

describe('The table of resources', () => {
  test('holds what the nouns read, and nothing else', () => {
    expect([...new Set(used)].sort()).toEqual([...resourceNames].sort());
  });

  test('is all that the compiler takes for a resource', () => {
    const known: Read<null>['resource'] = 'channelItems';
    // @ts-expect-error: a misspelled resource would have no ttl, and nothing of it would be kept.
    const misspelled: Read<null>['resource'] = 'chanelItems';
    expect(resourceNames).toContain(known);
    expect(resourceNames).not.toContain(misspelled);
  });
});
