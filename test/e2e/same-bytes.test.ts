import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { builtPages, describeWith } from '../support/needs.ts';

const work = mkdtempSync(join(tmpdir(), 'same-bytes-'));
afterAll(() => execFileSync('rm', ['-rf', work]));

/** The digests of all files in a folder, by their paths. */
function digests(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name))
    .sort();
  return Object.fromEntries(
    files.map((path) => [
      path.slice(folder.length + 1),
      createHash('sha256').update(readFileSync(path)).digest('hex'),
    ]),
  );
}

describeWith(builtPages, 'a build', () => {
  it('has the same bytes in another folder, time zone, language and umask', () => {
    const copy = join(work, 'a folder', 'of another name');
    mkdirSync(copy, { recursive: true });
    const sources = readdirSync('.').filter(
      (name) => !/^(\.git|dist|node_modules|coverage)$/.test(name),
    );
    for (const name of sources) {
      const isForeign = (path: string) => /(^|\/)node_modules(\/|$)/.test(path);
      cpSync(name, join(copy, name), { recursive: true, filter: (path) => !isForeign(path) });
    }
    const sh = (script: string, env = {}) =>
      execFileSync('sh', ['-ec', script], { env: { ...process.env, COPY: copy, ...env } });
    // As links where the file system can: they are hundreds of megabytes.
    sh('cp -al node_modules "$COPY" 2>/dev/null || cp -a node_modules "$COPY"');
    sh('cd "$COPY"; umask 077; "$NODE" scripts/build.js; "$NODE" scripts/build-pages.js', {
      NODE: process.execPath,
      TZ: 'Asia/Kathmandu',
      LC_ALL: 'tr_TR.UTF-8',
      HOME: work,
    });
    const first = digests('dist');
    expect(Object.keys(first)).toContain('THIRD-PARTY-NOTICES.txt');
    expect(Object.keys(first)).toContain('sbom.cdx.json');
    expect(digests(join(copy, 'dist'))).toEqual(first);
  });
});
