import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, linkSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { KnownToken } from '../../src/auth/token-file.ts';
import { openDoor } from '../support/door.ts';
import { tempFolder } from '../support/folder.ts';

const folder = tempFolder();

describe('the token command', () => {
  const run = promisify(execFile);
  const mint = (...flags: string[]) =>
    run(process.execPath, [
      'dist/main.js',
      'token',
      '--file',
      join(folder, 'minted.json'),
      ...flags,
    ]);

  it('prints a token once and keeps only its hash, in a file for its owner alone', async () => {
    const { stdout } = await mint('--name', 'web', '--role', 'viewer', '--expires', '2100-01-01');
    const token = stdout.trim();
    expect(token).toMatch(/^lmg_[\w-]{43}$/);
    const path = join(folder, 'minted.json');
    const text = readFileSync(path, 'utf8');
    expect(text).not.toContain(token);
    expect(JSON.parse(text)).toEqual({
      tokens: [
        { name: 'web', role: 'viewer', sha256: hash('sha256', token), expires: '2100-01-01' },
      ],
    });
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
    const door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: path });
    expect((await door.ask('{ account { username } }', token)).status).toBe(200);
  });

  it('adds to what is there, under another name only', async () => {
    await mint('--name', 'second', '--role', 'admin');
    await expect(mint('--name', 'second', '--role', 'admin')).rejects.toMatchObject({ code: 2 });
    const { tokens } = JSON.parse(readFileSync(join(folder, 'minted.json'), 'utf8'));
    expect(tokens.map(({ name }: KnownToken) => name)).toEqual(['web', 'second']);
  });

  it.each([
    [['--role', 'admin']],
    [['--name', 'x', '--role', 'root']],
    [['--name', 'a b', '--role', 'admin']],
    [['--name', 'x', '--role', 'admin', '--expires', '2001-01-01']],
    [['--name', 'x', '--role', 'admin', '--expires', 'tomorrow']],
    [['--name', 'x', '--role', 'admin', '--colour', 'red']],
  ])('refuses %j with exit code 2, and leaves the file as it was', async (flags) => {
    const before = readFileSync(join(folder, 'minted.json'), 'utf8');
    await expect(mint(...flags)).rejects.toMatchObject({ code: 2 });
    expect(readFileSync(join(folder, 'minted.json'), 'utf8')).toBe(before);
  });

  it('writes the same file: who has it under another name, as a container has, sees the token', async () => {
    const path = join(folder, 'minted.json');
    const mounted = join(folder, 'mounted.json');
    linkSync(path, mounted);
    chmodSync(path, 0o640);
    const { ino } = statSync(path);
    const { stdout } = await mint('--name', 'third', '--role', 'viewer');
    expect(readFileSync(mounted, 'utf8')).toContain(hash('sha256', stdout.trim()));
    const after = statSync(path);
    expect([after.ino, (after.mode & 0o777).toString(8)]).toEqual([ino, '640']);
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('does not write over a file that it cannot read', async () => {
    const path = join(folder, 'broken.json');
    writeFileSync(path, 'not json');
    const flags = ['dist/main.js', 'token', '--file', path, '--name', 'x', '--role', 'viewer'];
    await expect(run(process.execPath, flags)).rejects.toMatchObject({ code: 1 });
    expect(readFileSync(path, 'utf8')).toBe('not json');
  });
});
