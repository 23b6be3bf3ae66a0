import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { tempFolder } from '../support/folder.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { type Running, start } from '../support/process.ts';
import { openBrowser } from './browser.ts';

/** What a clone does not have, and what only some tests install. */
const LEFT_OUT = /(^|\/)(\.git|dist|node_modules|coverage|state)$/;

/** This project as it is cloned, with its packages installed, in a temporary folder. */
interface ProjectCopy {
  readonly folder: string;
  readonly remove: () => void;
}

/** Copies it. Packages are links where the file system can: they are hundreds of megabytes. */
function copyProject(): ProjectCopy {
  const folder = tempFolder();
  for (const name of readdirSync('.').filter((each) => !LEFT_OUT.test(each))) {
    const filter = (path: string): boolean => !LEFT_OUT.test(path);
    cpSync(name, join(folder, name), { recursive: true, filter });
  }
  const script = 'cp -al node_modules "$0" 2>/dev/null || cp -a node_modules "$0"';
  execFileSync('sh', ['-c', script, folder]);
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

/** What the server says when it listens, to a person and to a log. */
const READY = /(?:^GraphQL +|"url":")(http:\S+?)\/graphql/m;

describeWith(chromium, '`npm start` in a clone', () => {
  const copies: ProjectCopy[] = [];
  let copy: ProjectCopy;
  let browser: Browser;
  let running: Running | undefined;
  beforeAll(async () => {
    renewCopy();
    browser = await openBrowser();
  });
  afterEach(async () => {
    running?.child.kill('SIGTERM');
    await running?.ended;
    running = undefined;
  });
  afterAll(async () => {
    await browser.close();
    for (const each of copies) each.remove();
  });

  /** Replaces the copy by one that was never built, in another folder: the pages of this one may still be under way. */
  function renewCopy(): void {
    copy = copyProject();
    copies.push(copy);
  }

  /** As a person does, but for the port; resolves with where it listens. */
  async function begin(env: Record<string, string> = {}): Promise<string> {
    const { PATH = '', HOME = '' } = process.env;
    running = start('npm', ['start'], {
      cwd: copy.folder,
      env: { PATH, HOME, PORT: '0', STATE_DIR: 'off', ...env },
    });
    const [, url = ''] = await running.says(READY);
    return url;
  }

  const changedAt = (path: string): number => statSync(join(copy.folder, path)).mtimeMs;
  const inDist = (path: string): string => join(copy.folder, 'dist', path);

  it('answers before the pages are built, and a browser that came too early gets GraphiQL by itself', async () => {
    // An earlier try can have built the pages.
    if (existsSync(inDist(''))) renewCopy();
    const url = await begin();
    const early = await fetch(`${url}/graphql`, { headers: { accept: 'text/html' } });
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1']);
    const page = await browser.newPage();
    // A build takes as long as the machine is busy.
    page.setDefaultTimeout(0);
    const first = await page.goto(`${url}/graphql?query={plans{name}}`);
    expect(first?.status()).toBe(503);
    const asked = await fetch(`${url}/graphql?query={account{username}}`);
    expect(await asked.json()).toMatchObject({ data: { account: { username: 'studio' } } });
    await page.waitForFunction(() => performance.getEntriesByName('editors').length > 0);
    expect(new URL(page.url()).search).toContain('plans');
    await page.close();
  }, 300_000);

  it('builds again only what is made of sources that changed', async () => {
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: copy.folder });
    const unchanged = [changedAt('dist/made-from'), changedAt('dist/pages/made-from')];
    const url = await begin();
    expect((await fetch(`${url}/graphql`, { headers: { accept: 'text/html' } })).status).toBe(200);
    expect([changedAt('dist/made-from'), changedAt('dist/pages/made-from')]).toEqual(unchanged);
    running?.child.kill('SIGTERM');
    await running?.ended;

    const source = join(copy.folder, 'src/schema.ts');
    const text = readFileSync(source);
    appendFileSync(source, "\nimport { stringify } from 'yaml';\n");
    appendFileSync(source, "globalThis.console.log(stringify('built of what changed'));\n");
    await begin();
    expect(running?.output()).toContain('built of what changed');
    expect(changedAt('dist/pages/made-from')).toBe(unchanged[1]);
    expect(readFileSync(inDist('THIRD-PARTY-NOTICES.txt'), 'utf8')).toMatch(/^yaml 2\./m);
    writeFileSync(source, text);
  });

  it('fails where the sources cannot be built, and does not serve what was built before', async () => {
    const source = join(copy.folder, 'src/schema.ts');
    const text = readFileSync(source);
    appendFileSync(source, "\nimport './nowhere.ts';\n");
    await expect(begin()).rejects.toThrow('nowhere.ts');
    expect(await running?.ended).not.toBe(0);
    writeFileSync(source, text);
  });

  it('says what is missing where only production packages are installed', async () => {
    const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
      packages: Record<string, { dev?: boolean }>;
    };
    const others = Object.entries(lock.packages).flatMap(([path, { dev }]) => (dev ? path : []));
    for (const path of others) rmSync(join(copy.folder, path), { recursive: true, force: true });
    rmSync(join(copy.folder, 'dist'), { recursive: true });
    await expect(begin()).rejects.toThrow('ended without');
    expect(running?.output()).toMatch(/^Not started: .* npm ci --include=dev && npm run build/m);
    expect(running?.output()).not.toMatch(/^ +at /m);
  });
});
