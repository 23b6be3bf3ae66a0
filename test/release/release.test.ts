import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Scratch } from './scratch.ts';

const repository = { type: 'git', url: 'git+https://github.com/someone/gateway.git' };

/** A project that packs in no time, with the scripts of this one around it. */
function makeProject(): Scratch {
  const scratch = new Scratch();
  scratch.take('.ci/release', 'scripts/changelog.js', 'scripts/release-notes.js');
  scratch.take('scripts/schema-changes.js');
  const manifest = { version: '1.2.0', type: 'module', repository, files: ['dist'] };
  const named = (name: string): string => JSON.stringify({ name, ...manifest });
  scratch.write('package.json', named('links-market-gateway'));
  scratch.write('client/package.json', named('links-market-client'));
  scratch.write('client/dist/index.js', 'export {};\n');
  scratch.write('dist/THIRD-PARTY-NOTICES.txt', 'All of them\n');
  scratch.write('dist/sbom.cdx.json', '{}\n');
  scratch.write('schema.graphql', 'type Query { a: Int }\n');
  scratch.write(
    'CHANGELOG.md',
    '# Changelog\n\n## 1.2.0\n\n- It is faster.\n\n## 1.1.0\n\n- New.\n',
  );
  scratch.write('.gitignore', '/release/\n/tested\n');
  scratch.write('.ci/run', '#!/bin/sh\necho tested >>tested\n', 0o755);
  scratch.git('init', '--quiet');
  scratch.commit();
  return scratch;
}

/** Packs as npm does, in a tenth of its time, and lets everything be published that is only rehearsed. */
const quickNpm = `[ "$1" = pack ] || exit 0
case $2 in ./*) folder=$2 ;; *) folder=. ;; esac
while [ "$1" != --pack-destination ]; do shift; done
name=$(node -p '({ name, version } = JSON.parse(fs.readFileSync(process.argv[1])), name + "-" + version)' "$folder/package.json") || exit 1
tar -czf "$2/$name.tgz" -C "$folder" --transform s,^,package/, package.json dist`;

const files = (scratch: Scratch, folder: string): string[] =>
  readdirSync(join(scratch.folder, folder)).toSorted();
const made = [
  'SHA256SUMS',
  'THIRD-PARTY-NOTICES.txt',
  'links-market-client-1.2.0.tgz',
  'links-market-gateway-1.2.0.tgz',
  'notes.md',
  'sbom.cdx.json',
  'schema.graphql',
];

describe('.ci/release', () => {
  let scratch: Scratch;
  beforeEach(() => {
    scratch = makeProject();
    scratch.place('npm', quickNpm);
  });
  afterEach(() => scratch.remove());
  const release = (...args: readonly string[]) => scratch.run('.ci/release', ...args);

  it('puts all of a tag into one folder, with checksums', () => {
    scratch.unplace('npm');
    scratch.git('tag', '-a', 'v1.2.0', '-m', '1.2.0');
    const { status, output } = release();
    expect(status, output).toBe(0);
    expect(output).toContain('neither docker nor podman runs here');
    expect(files(scratch, 'release')).toEqual(['v1.2.0']);
    expect(files(scratch, 'release/v1.2.0')).toEqual(made);
    expect(scratch.read('tested')).toBe('tested\n');
    expect(scratch.read('release/v1.2.0/notes.md')).toBe('- It is faster.\n');
    const sums = scratch.read('release/v1.2.0/SHA256SUMS').trim().split('\n');
    expect(sums).toEqual(
      made.slice(1).map((name) => {
        const content = readFileSync(join(scratch.folder, 'release/v1.2.0', name));
        return `${createHash('sha256').update(content).digest('hex')}  ${name}`;
      }),
    );
    const again = release();
    expect(again).toMatchObject({ status: 1 });
    expect(again.output).toContain('release/v1.2.0 is there already');
  });

  it('makes a version that is only tried, too', () => {
    for (const path of ['package.json', 'client/package.json']) {
      scratch.write(path, scratch.read(path).replace('1.2.0', '1.2.0-rc.1'));
    }
    scratch.write('CHANGELOG.md', '## 1.2.0-rc.1\n\n- It is faster.\n');
    scratch.commit();
    scratch.git('tag', 'v1.2.0-rc.1');
    const { status, output } = release();
    expect(status, output).toBe(0);
    expect(files(scratch, 'release')).toEqual(['v1.2.0-rc.1']);
  });

  it('says in the notes what the graph changes since the tag before', () => {
    scratch.git('tag', 'v1.1.0');
    scratch.git('tag', 'other');
    scratch.take('package-lock.json');
    scratch.write('schema.graphql', 'type Query { b: Int }\n');
    // What the script imports is in the project's own packages.
    scratch.run('ln', '-s', join(process.cwd(), 'node_modules'), 'node_modules');
    scratch.write('.gitignore', '/release/\n/node_modules\n/tested\n');
    scratch.commit();
    scratch.git('tag', 'v1.2.0');
    const { status, output } = release();
    expect(status, output).toBe(0);
    expect(scratch.read('release/v1.2.0/notes.md')).toMatch(
      /^- It is faster\.\n\n```text\nschema: changes since v1\.1\.0\nbreaking: [^]*Field 'a' was removed[^]*```\n$/,
    );
  });

  it('rehearses without a tag, and replaces the rehearsal before', () => {
    for (const args of [['--rehearse'], ['--rehearse', '--tested']]) {
      const { status, output } = release(...args);
      expect(status, output).toBe(0);
      expect(files(scratch, 'release')).toEqual(['rehearsal']);
      expect(files(scratch, 'release/rehearsal')).toEqual(made);
    }
    expect(scratch.read('tested')).toBe('tested\n');
    expect(release('--rehearse', '--publish').output).toContain('a rehearsal is not published');
  });

  it.each<[string, () => unknown, string]>([
    [
      'without the tag',
      () => scratch.git('tag', 'v1.1.9'),
      'the commit that is checked out has no tag v1.2.0',
    ],
    [
      'behind the tag',
      () => {
        scratch.git('tag', 'v1.2.0');
        scratch.write('more', '');
        scratch.commit();
      },
      'the commit that is checked out has no tag v1.2.0',
    ],
    [
      'of what is not committed',
      () => {
        scratch.git('tag', 'v1.2.0');
        scratch.write('more', '');
      },
      'there are changes that are not committed',
    ],
    [
      'of a client of another version',
      () => {
        scratch.write('client/package.json', '{"version":"1.1.0"}');
        scratch.commit();
        scratch.git('tag', 'v1.2.0');
      },
      'the client package has version 1.1.0, and not 1.2.0',
    ],
    [
      'of an exported tree',
      () => rmSync(join(scratch.folder, '.git'), { recursive: true }),
      'this is no clone of the project',
    ],
    [
      'without notes',
      () => {
        scratch.write('CHANGELOG.md', '## 1.2.0\n\n## 1.1.0\n\n- New.\n');
        scratch.commit();
        scratch.git('tag', 'v1.2.0');
      },
      'CHANGELOG.md says nothing under "## 1.2.0"',
    ],
  ])('makes nothing, and tests nothing, %s', (_, prepare, reason) => {
    prepare();
    const { status, output } = release();
    expect(status).toBe(1);
    expect(output).toContain(reason);
    expect(scratch.run('ls', 'tested').status).not.toBe(0);
    expect(scratch.run('ls', '-A', 'release').output.trim()).toMatch(/^$|No such file/);
  });

  it.each([
    ['the tests fail', '.ci/run', '#!/bin/sh\nexit 3\n'],
    ['a step leaves changes behind', '.ci/run', '#!/bin/sh\necho more >more\n'],
    ['a package lacks its notices', '.ci/run', '#!/bin/sh\nrm dist/THIRD-PARTY-NOTICES.txt\n'],
    ['a package cannot be made', '.ci/run', '#!/bin/sh\necho "{" >client/package.json\n'],
    [
      'packing is cut off',
      '.ci/run',
      '#!/bin/sh\nmv package.json .package.json\necho "{" >package.json\n',
    ],
  ])('leaves nothing behind where %s', (_, path, script) => {
    scratch.write(path, script, 0o755);
    scratch.commit();
    scratch.git('tag', 'v1.2.0');
    expect(release().status).not.toBe(0);
    expect(scratch.run('ls', '-A', 'release')).toEqual({ status: 0, output: '' });
    expect(scratch.git('status', '--porcelain', 'package.json')).toBe('');
  });

  it('makes the image where there is an engine', () => {
    scratch.git('tag', 'v1.2.0');
    scratch.place(
      'docker',
      'while [ $# -gt 1 ]; do [ "$1" = --output ] && echo image >"$2"; shift; done',
    );
    const { status, output } = release();
    expect(status, output).toBe(0);
    expect(files(scratch, 'release/v1.2.0')).toContain('links-market-gateway-1.2.0-image.tar');
    expect(scratch.read('release/v1.2.0/SHA256SUMS')).toContain('-image.tar');
    const commit = scratch.git('rev-parse', 'HEAD');
    const [build = '', save = ''] = scratch.calls().filter((line) => line.startsWith('docker'));
    expect(build).toMatch(/^docker build --tag links-market-gateway:1\.2\.0 .* \.$/);
    expect(build).toContain(`--label org.opencontainers.image.revision=${commit}`);
    expect(save).toMatch(/^docker save --output .* links-market-gateway:1\.2\.0$/);
  });
});

describe('.ci/release --publish', () => {
  /** A release that is made, and what each test has of it. */
  let released: Scratch;
  let scratch: Scratch;
  /** A registry that knows some packages, by their names with the integrity of a file. */
  let registry: Server;
  const known = new Map<string, string>();
  const asked: string[] = [];
  beforeAll(() => {
    released = makeProject();
    released.git('tag', 'v1.2.0');
    released.place(
      'docker',
      'case $1 in inspect) echo ghcr.io/someone/gateway@sha256:abc ;; save) echo image >"$3" ;; esac',
    );
    released.place('gh', '[ "$2" != view ]');
    released.place('npm', quickNpm);
    const { status, output } = released.run('.ci/release', '--tested');
    expect(status, output).toBe(0);
    released.unplace('npm');
    released.write('../calls', '');
  });
  afterAll(() => released.remove());
  beforeEach(async () => {
    known.clear();
    asked.length = 0;
    registry = createServer(({ method, url = '' }, response) => {
      const name = url.slice(1);
      asked.push(`${method} ${name}`);
      const integrity = known.get(name);
      response.statusCode = integrity ? 200 : 404;
      const version = { name, version: '1.2.0', dist: { integrity, tarball: '' } };
      const versions = { '1.2.0': version };
      response.end(JSON.stringify({ name, versions, 'dist-tags': { latest: '1.2.0' } }));
    });
    await new Promise<void>((resolve) => void registry.listen(0, '127.0.0.1', resolve));
    scratch = released.copy();
    Object.assign(scratch.env, {
      GITHUB_REPOSITORY: 'Someone/Gateway',
      GITHUB_TOKEN: 'token',
      GITHUB_ACTOR: 'someone',
      GITHUB_OUTPUT: join(scratch.folder, '../output'),
      ACTIONS_ID_TOKEN_REQUEST_URL: 'http://127.0.0.1:9',
      npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}`,
    });
  });
  afterEach(async () => {
    scratch.remove();
    await new Promise((resolve) => void registry.close(resolve));
  });

  /** Runs it while the registry answers. */
  function publish(): Promise<{ status: number; output: string }> {
    return new Promise((resolve) => {
      const { folder: cwd, env } = scratch;
      execFile('bash', ['.ci/release', '--publish'], { cwd, env }, (error, stdout, stderr) => {
        const status = typeof error?.code === 'number' ? error.code : 0;
        resolve({ status, output: stdout + stderr });
      });
    });
  }
  const integrity = (name: string): string => {
    const file = readFileSync(join(scratch.folder, `release/v1.2.0/${name}-1.2.0.tgz`));
    return `sha512-${createHash('sha512').update(file).digest('base64')}`;
  };
  const publishBefore = (...names: readonly string[]): void => {
    for (const name of names) known.set(name, integrity(name));
  };

  it('goes on behind what is published, and hands the image on to be attested', async () => {
    publishBefore('links-market-client', 'links-market-gateway');
    const { status, output } = await publish();
    expect(status, output).toBe(0);
    expect(output).toContain('links-market-gateway@1.2.0: published before');
    expect(asked.filter((line) => line.startsWith('PUT'))).toEqual([]);
    const calls = scratch.calls();
    expect(calls.map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      'docker load --input',
      'docker tag links-market-gateway:1.2.0',
      'docker login ghcr.io',
      'docker push ghcr.io/someone/gateway:1.2.0',
      'docker inspect --format',
      'gh release view',
      'gh release create',
    ]);
    expect(calls.join('\n')).not.toContain('token');
    expect(scratch.read('../output')).toBe('image=ghcr.io/someone/gateway\ndigest=sha256:abc\n');
  });

  it.each<[string, () => unknown, string]>([
    [
      'another file of this version is in the registry',
      () => known.set('links-market-gateway', 'sha512-other'),
      'npm has another links-market-gateway@1.2.0 already',
    ],
    [
      'a file was changed',
      () => scratch.write('release/v1.2.0/notes.md', 'Other notes'),
      'release/v1.2.0 is not what was made',
    ],
    [
      'it does not run in a workflow',
      () => delete scratch.env['ACTIONS_ID_TOKEN_REQUEST_URL'],
      'see .github/workflows/release.yml',
    ],
    [
      'it runs in a workflow of another repository',
      () => Object.assign(scratch.env, { GITHUB_REPOSITORY: 'someone/else' }),
      'names another repository than someone/else',
    ],
    [
      'nothing was made',
      () => rmSync(join(scratch.folder, 'release/v1.2.0'), { recursive: true }),
      'there is no release/v1.2.0',
    ],
  ])('publishes nothing where %s', async (_, change, reason) => {
    change();
    const { status, output } = await publish();
    expect(status).toBe(1);
    expect(output).toContain(reason);
    expect(asked.filter((line) => line.startsWith('PUT'))).toEqual([]);
    expect(scratch.calls()).toEqual([]);
  });
});
