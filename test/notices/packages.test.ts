import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
// @ts-expect-error: a script has no types.
import { inventories, notices, writeNotices } from '../../scripts/notices/write.js';
import { tempFolder } from '../support/folder.ts';

let root = '';
beforeEach(() => {
  root = tempFolder();
});

function file(path: string, content: unknown): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  writeFileSync(join(root, path), text);
}

interface Installed {
  readonly name?: string;
  readonly version?: string;
  readonly license?: unknown;
  readonly [field: string]: unknown;
}

const INTEGRITY = `sha512-${Buffer.from('the archive').toString('base64')}`;

/** Writes the notices of a server with one package, as it is installed, and as the lock file has it. */
function noticesOf(installed: Installed, texts: Record<string, string> = {}, locked = {}): string {
  const found = { name: 'some', version: '1.0.0', license: 'MIT', ...installed };
  const folder = 'node_modules/some';
  const paths = Object.keys(texts).map((name) => `${folder}/${name}`);
  file(`${folder}/package.json`, found);
  for (const [name, text] of Object.entries(texts)) file(`${folder}/${name}`, text);
  file('package-lock.json', {
    packages: {
      '': { name: 'gateway', version: '2.0.0', license: 'MIT', dependencies: { some: '1.0.0' } },
      [folder]: { version: '1.0.0', license: found.license, integrity: INTEGRITY, ...locked },
    },
  });
  file(inventories.server, { [folder]: { texts: paths, comments: ['By us'], embedded: [] } });
  file(inventories.pages, {});
  writeNotices(root);
  return readFileSync(join(root, notices.text), 'utf8');
}

describe('the notices', () => {
  it('name a package as the lock file does, and give the whole text of its licence', () => {
    const whole = `The MIT License\n\nCopyright Somebody\n\n${'words '.repeat(500)}`;
    const text = noticesOf({ repository: 'git@github.com:owner/some.git' }, { LICENSE: whole });
    expect(text).toContain('\nsome 1.0.0 (MIT) in server\n  https://github.com/owner/some\n');
    expect(text).toContain(whole.trimEnd());
    expect(text).toContain('In its files:\n\n  By us\n');
  });

  it('give the text of the declared licence with the author, and say so, where a package has none', () => {
    const text = noticesOf({ author: 'Some Body <some@example.com>' });
    expect(text).toContain(
      'some 1.0.0 comes without the text of its licence, MIT, which is:\n\nAuthor: Some Body\n',
    );
    expect(text).toContain('THE SOFTWARE IS PROVIDED "AS IS"');
  });

  it.each([
    ['no licence', { license: undefined }],
    ['a licence that nobody has accepted', { license: 'AGPL-3.0-only' }],
    ['one of several that must all be kept', { license: 'MIT AND GPL-2.0-only' }],
    ['words for a licence', { license: 'SEE LICENSE IN LICENSE' }],
    ['an object in place of a licence', { license: { type: 'MIT' } }],
  ])('fail the build for a package with %s', (_what, installed) => {
    expect(() => noticesOf(installed, { LICENSE: 'text' })).toThrow(/has the licence/);
  });

  it('take a package under one of the licences that it lets choose from', () => {
    const text = noticesOf({ license: '(MPL-2.0 OR Apache-2.0)' }, { LICENSE: 'text' });
    expect(text).toContain('some 1.0.0 ((MPL-2.0 OR Apache-2.0)) in server');
  });

  it('fail the build for a package with neither a text nor an author', () => {
    expect(() => noticesOf({})).toThrow('neither a text of its licence nor an author');
  });

  it('fail the build for a licence of which neither the package nor the build has the text', () => {
    expect(() => noticesOf({ author: 'Some Body', license: 'BlueOak-1.0.0' })).toThrow(
      /BlueOak-1\.0\.0\.txt/,
    );
  });

  it.each([
    ['version', { version: '1.0.1' }, /is some 1\.0\.0, the lock file has some 1\.0\.1/],
    ['name', { name: 'other' }, /is some 1\.0\.0, the lock file has other 1\.0\.0/],
    ['licence', { license: 'ISC' }, /"ISC" in the lock file/],
  ])('fail the build where the lock file has another %s', (_what, locked, message) => {
    expect(() => noticesOf({}, { LICENSE: 'text' }, locked)).toThrow(message);
  });

  it('fail the build where the lock file has no digest of a package', () => {
    const linked = { integrity: undefined };
    expect(() => noticesOf({}, { LICENSE: 'text' }, linked)).toThrow('has no digest in the lock');
  });

  it.each([
    ['git+https://github.com/owner/some.git', 'https://github.com/owner/some'],
    ['git://github.com/owner/some', 'https://github.com/owner/some'],
    ['git+ssh://git@github.com/owner/some.git', 'https://github.com/owner/some'],
    ['git@github.com:owner/some.git', 'https://github.com/owner/some'],
    ['github:owner/some', 'https://github.com/owner/some'],
    ['owner/some', 'https://github.com/owner/some'],
    ['http://example.com/some/', 'https://example.com/some'],
    [undefined, 'https://www.npmjs.com/package/some'],
  ])('lead from the repository %s to %s', (repository, address) => {
    expect(noticesOf({ repository }, { LICENSE: 'text' })).toContain(`in server\n  ${address}\n`);
    expect(noticesOf({ repository: { url: repository } }, { LICENSE: 'text' })).toContain(address);
  });

  it('take a package by the name under which it is installed', () => {
    const text = noticesOf({ name: '@owner/some' }, { LICENSE: 'text' }, { name: '@owner/some' });
    expect(text).toContain('@owner/some 1.0.0 (MIT) in server');
  });
});

describe('the bill of materials', () => {
  it('has name, version, licence and digest of each package, and what needs it', () => {
    noticesOf({ name: '@owner/some' }, { LICENSE: 'text' }, { name: '@owner/some' });
    expect(JSON.parse(readFileSync(join(root, notices.sbom), 'utf8'))).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'gateway', version: '2.0.0', purl: 'pkg:npm/gateway@2.0.0' } },
      components: [
        {
          group: '@owner',
          name: 'some',
          version: '1.0.0',
          purl: 'pkg:npm/%40owner/some@1.0.0',
          licenses: [{ license: { id: 'MIT' } }],
          hashes: [{ alg: 'SHA-512', content: Buffer.from('the archive').toString('hex') }],
        },
      ],
      dependencies: [
        { ref: 'pkg:npm/gateway@2.0.0', dependsOn: ['pkg:npm/%40owner/some@1.0.0'] },
        { ref: 'pkg:npm/%40owner/some@1.0.0', dependsOn: [] },
      ],
    });
  });

  it('says of which licences a package lets choose', () => {
    noticesOf({ license: '(MPL-2.0 OR Apache-2.0)' }, { LICENSE: 'text' });
    const { components } = JSON.parse(readFileSync(join(root, notices.sbom), 'utf8'));
    expect(components[0].licenses).toEqual([{ expression: '(MPL-2.0 OR Apache-2.0)' }]);
  });
});
