import { hash } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { formatTokenFile, type KnownToken, parseTokenFile } from '../../src/auth/token-file.ts';
import { CommandError, UsageError } from '../../src/commands/faults.ts';
import { makeToken } from '../../src/commands/token.ts';
import { openDoor } from '../support/door.ts';
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

/** What it has printed. */
let printed = '';

beforeEach(() => {
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += text.toString().trim();
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  writeFileSync(file, formatTokenFile([crawler]));
});

const mint = (...flags: string[]) => makeToken(['--file', file, ...flags], {});
const make = (...flags: string[]) =>
  makeToken(['--name', 'bot', '--role', 'editor', ...flags], { AUTH_TOKENS_FILE: file });
const tokens = () => parseTokenFile(readFileSync(file, 'utf8'));

describe('The token command', () => {
  it('prints a token once and keeps only its hash, in a file for its owner alone', async () => {
    rmSync(file);
    mint('--name', 'bot', '--role', 'editor', '--expires', '2100-01-01');
    const token = printed;
    expect(token).toMatch(/^lmg_[\w-]{43}$/);
    const text = readFileSync(file, 'utf8');
    expect(text).not.toContain(token);
    expect(JSON.parse(text)).toEqual({
      tokens: [
        { name: 'bot', role: 'editor', sha256: hash('sha256', token), expires: '2100-01-01' },
      ],
    });
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    const door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
    expect((await door.ask('{ account { username } }', token)).status).toBe(200);
  });

  it.each([
    [['--role', 'admin']],
    [['--name', 'x', '--role', 'root']],
    [['--name', 'a b', '--role', 'admin']],
    [['--name', 'crawler', '--role', 'admin']],
    [['--name', 'x', '--role', 'admin', '--expires', '2001-01-01']],
    [['--name', 'x', '--role', 'admin', '--expires', 'tomorrow']],
    [['--name', 'x', '--role', 'admin', '--colour', 'red']],
  ])('refuses %j, and leaves the file as it was', (flags) => {
    const before = readFileSync(file, 'utf8');
    expect(() => mint(...flags)).toThrow(UsageError);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('writes the same file: who has it under another name, as a container has, sees the token', () => {
    const mounted = join(folder, 'mounted.json');
    linkSync(file, mounted);
    chmodSync(file, 0o640);
    const { ino } = statSync(file);
    make();
    expect(readFileSync(mounted, 'utf8')).toContain(hash('sha256', printed));
    const after = statSync(file);
    expect([after.ino, (after.mode & 0o777).toString(8)]).toEqual([ino, '640']);
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('does not write over a file that it cannot read', () => {
    writeFileSync(file, 'not json');
    expect(() => make()).toThrow(CommandError);
    expect(readFileSync(file, 'utf8')).toBe('not json');
  });

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
