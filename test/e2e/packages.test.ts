import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { start } from '../support/process.ts';

const folder = mkdtempSync(join(tmpdir(), 'packages-'));
const lock = join(folder, 'package-lock.json');
/** Says which process installs. */
const installing = join(folder, '.installing');
afterAll(() => rmSync(folder, { recursive: true }));

/** A package that needs no registry: its one dependency is beside it. */
beforeAll(() => {
  const beside = { name: 'beside', version: '1.0.0' };
  const own = { name: 'own', version: '1.0.0', dependencies: { beside: 'file:beside' } };
  mkdirSync(join(folder, 'beside'));
  writeFileSync(join(folder, 'beside/package.json'), JSON.stringify(beside));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(own));
  const packages = {
    '': own,
    beside: { version: '1.0.0' },
    'node_modules/beside': { resolved: 'beside', link: true },
  };
  writeFileSync(lock, JSON.stringify({ ...own, lockfileVersion: 3, requires: true, packages }));
});

async function install(): Promise<{ status: unknown; output: string }> {
  const { PATH = '', HOME = '' } = process.env;
  const script = start(process.execPath, ['scripts/packages.js', folder], {
    cwd: '.',
    env: { PATH, HOME, npm_config_registry: 'http://127.0.0.1:1' },
  });
  return { status: await script.ended, output: script.output() };
}

it('packages of a folder are installed where they are missing, or older than its lock file', async () => {
  const installed = {
    status: 0,
    output: expect.stringContaining(`installing the packages of ${folder}\n`),
  };
  expect(await install()).toEqual(installed);
  expect(await install()).toEqual({ status: 0, output: '' });
  const later = Date.now() / 1000 + 60;
  utimesSync(lock, later, later);
  expect(await install()).toEqual(installed);
});

it('packages are installed once where two processes want them at a time', async () => {
  rmSync(join(folder, 'node_modules'), { recursive: true });
  const earlier = Date.now() / 1000 - 60;
  utimesSync(lock, earlier, earlier);
  const both = await Promise.all([install(), install()]);
  expect(both.map(({ status }) => status)).toEqual([0, 0]);
  expect(both.filter(({ output }) => output !== '')).toHaveLength(1);
  expect(existsSync(installing)).toBe(false);
});

it('packages are installed where a process was killed while it installed them', async () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  for (const left of [String(pid), '']) {
    rmSync(join(folder, 'node_modules'), { recursive: true });
    writeFileSync(installing, left);
    expect((await install()).status).toBe(0);
    expect(existsSync(installing)).toBe(false);
  }
});

it('packages that cannot be installed end the command with what npm says and one sentence', async () => {
  rmSync(join(folder, 'node_modules'), { recursive: true });
  rmSync(lock);
  const { output, status } = await install();
  expect(status).toBe(1);
  expect(output.trimEnd().split('\n').at(-1)).toBe(
    `the packages of ${folder} are not installed: see above`,
  );
});
