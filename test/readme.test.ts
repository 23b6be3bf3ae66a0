import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { settings } from '../src/settings.ts';
import { renderSettings } from './support/settings-table.ts';

describe('the README', () => {
  it('lists every setting as the code has it', () => {
    const readme = readFileSync('README.md', 'utf8');
    const table = /^\| Variable \|.*\n(?:\|.*\n)+/m.exec(readme)?.[0].trimEnd();
    // To renew the table, copy the expected one from this test's failure.
    expect(table).toBe(renderSettings(settings));
  });
});
