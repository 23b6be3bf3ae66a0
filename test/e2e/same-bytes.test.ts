import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { builtPages, describeWith } from '../support/needs.ts';
import { supportedNodes } from '../support/nodes.ts';

const work = mkdtempSync(join(tmpdir(), 'same-bytes-'));
afterAll(() => execFileSync('rm', ['-rf', work]));

/** The oldest Node, or the newest where this is the oldest. */
const [other] = supportedNodes([process.version.startsWith('v20.19.') ? '26' : '20.19']);
const node = join(other?.folder ?? '', 'node');

/** What Node packs with: another version may find a shorter way to say the same. */
const PACKERS = 'JSON.stringify([process.versions.zlib, process.versions.brotli])';

/** The digests of all files in a folder, by their paths; with `unpacked`, of what packed files hold. */
function digests(folder: string, unpacked: boolean): Record<string, string> {
  const content = (path: string): Buffer => {
    const bytes = readFileSync(path);
    if (unpacked && path.endsWith('.br')) return brotliDecompressSync(bytes);
    return unpacked && path.endsWith('.gz') ? gunzipSync(bytes) : bytes;
  };
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name))
    .sort();
  return Object.fromEntries(
    files.map((path) => [
      path.slice(folder.length + 1),
      createHash('sha256').update(content(path)).digest('hex'),
    ]),
  );
}

describeWith([builtPages, ...(other ? [other] : [])], 'a build', () => {
  it('has the same bytes in another folder, Node, time zone, language and umask', () => {
    const copy = join(work, 'a folder', 'of another name');
    mkdirSync(copy, { recursive: true });
    const isForeign = (path: string) =>
      /(^|\/)(\.git|dist|node_modules|release|coverage)(\/|$)/.test(path);
    for (const name of readdirSync('.').filter((path) => !isForeign(path))) {
      cpSync(name, join(copy, name), { recursive: true, filter: (path) => !isForeign(path) });
    }
    const sh = (script: string, env = {}) =>
      execFileSync('sh', ['-ec', script], { env: { ...process.env, COPY: copy, ...env } });
    // As links where the file system can: they are hundreds of megabytes.
    sh('cp -al node_modules "$COPY" 2>/dev/null || cp -a node_modules "$COPY"');
    sh('cd "$COPY"; umask 077; "$NODE" scripts/build.js; "$NODE" scripts/build-pages.js', {
      NODE: node,
      TZ: 'Asia/Kathmandu',
      LC_ALL: 'tr_TR.UTF-8',
      HOME: work,
    });
    const [here, there] = [process.execPath, node].map((path) =>
      execFileSync(path, ['-p', PACKERS], { encoding: 'utf8' }),
    );
    const first = digests('dist', here !== there);
    expect(Object.keys(first)).toContain('THIRD-PARTY-NOTICES.txt');
    expect(Object.keys(first)).toContain('sbom.cdx.json');
    expect(digests(join(copy, 'dist'), here !== there)).toEqual(first);
  });
});
