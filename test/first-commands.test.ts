import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { filesBelow } from './support/files-below.ts';
import { pages } from './support/readme.ts';

const texts = [
  ...pages.map(({ path }) => path),
  'client/README.md',
  'examples/dashboard/README.md',
  'src/commands/help.ts',
  'compose.yaml',
  'compose.account.yaml',
  ...filesBelow('deploy', /\.(yaml|cfg|json)$/),
];

/** Commands that work only where a package is in the registry. */
const FROM_REGISTRY =
  /npx (?:--?\S+ )*links-market-gateway|npm (?:i|install|add)(?: \S+)* links-market-(?:client|gateway)(?![\w-]*\S*\.tgz)/g;

describe('a command on a page', () => {
  it.each(texts)('works before publication, or says that it does not: %s', (path) => {
    const text = readFileSync(path, 'utf8');
    for (const { 0: command, index } of text.matchAll(FROM_REGISTRY)) {
      const [before = ''] = text
        .slice(0, index)
        .split(/\n\s*\n|\. (?=[A-Z])/)
        .slice(-1);
      expect(before, command).toMatch(/after publication/i);
    }
  });
});
