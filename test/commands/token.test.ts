import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { formatTokenFile, type KnownToken, parseTokenFile } from '../../src/auth/token-file.ts';
import { CommandError, UsageError } from '../../src/commands/faults.ts';
import { makeToken } from '../../src/commands/token.ts';
import { tempFolder } from '../support/folder.ts';

const folder = tempFolder();
const file = join(folder, 'tokens.json');

const crawler: KnownToken = {
  name: 'crawler',
  role: 'viewer',
  sha256: 'a'.repeat(64),
  class: 'nightly',
  expires: '2100-01-01',
};

beforeEach(() => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  writeFileSync(file, formatTokenFile([crawler]));
  return () => vi.restoreAllMocks();
});

const make = (...flags: string[]) =>
  makeToken(['--name', 'bot', '--role', 'editor', ...flags], { AUTH_TOKENS_FILE: file });
const tokens = () => parseTokenFile(readFileSync(file, 'utf8'));

describe('The token command', () => {
  it('writes the class, and leaves those of the other tokens', () => {
    make('--class', 'agent');
    expect(tokens()).toEqual([
      crawler,
      { name: 'bot', role: 'editor', sha256: expect.any(String), class: 'agent' },
    ]);
  });

  it('writes no class without --class', () => {
    make();
    expect(tokens()[1]).not.toHaveProperty('class');
  });

  it.each(['', 'Agent', '1st', 'two words', 'agent\n', '__proto__', 'a'.repeat(33)])(
    'refuses the class %j, and says what it can be',
    (name) => {
      const before = readFileSync(file, 'utf8');
      expect(() => make('--class', name)).toThrow(
        new UsageError(
          '--class must be 1 to 32 lower-case letters, digits or -, beginning with a letter.',
        ),
      );
      expect(readFileSync(file, 'utf8')).toBe(before);
    },
  );

  it('does not blame CALLER_CLASSES for a malformed class in the file', () => {
    const text = formatTokenFile([{ ...crawler, class: 'Nightly jobs' }]);
    writeFileSync(file, text);
    expect(() => make()).toThrow(
      new CommandError(
        `${file} cannot be used (tokens[0].class is not the name of a class, such as agent).`,
      ),
    );
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});
