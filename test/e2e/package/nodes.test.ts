import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWith } from '../../support/needs.ts';
import { supportedNodes } from '../../support/nodes.ts';
import { Packed } from '../../support/packed.ts';
import { type Running, start } from '../../support/process.ts';
import { pageAt, pageExamples } from '../../support/readme.ts';
import { expectAsShown, runExample } from '../../support/run-example.ts';

const COMMAND = 'links-market-gateway';

const run = promisify(execFile);
const [curl] = pageExamples(pageAt('README.md')).filter(({ kind }) => kind === 'curl');

let packed: Packed;
/** Where it is installed, for every Node. */
let cwd = '';
beforeAll(() => {
  packed = new Packed();
  cwd = packed.folder('installed');
});
afterAll(() => packed.remove());

/** The paths in the packed file. */
const contents = (): string[] =>
  execFileSync('tar', ['-tzf', packed.file], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, ''));

describe('npm pack', () => {
  it('leaves the sources as they were', () => {
    expect(readFileSync(join(packed.clone, 'package.json'), 'utf8')).toBe(packed.manifest);
    expect(readdirSync(packed.clone)).not.toContain('.package.json');
  });

  it('takes at most 10 MB, with the pages, the licences and what operators deploy', () => {
    expect(statSync(packed.file).size).toBeLessThan(10_000_000);
    expect(contents()).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'deploy/alerts.yaml',
        'dist/THIRD-PARTY-NOTICES.txt',
        'dist/main.js',
        'dist/pages/console.html',
        'dist/pages/graphiql.html',
        'dist/sbom.cdx.json',
        'docs/configuration.md',
        'schema.graphql',
      ]),
    );
  });

  it('builds first', () => {
    expect(contents()).toContain('dist/built');
  });

  it('takes no source, source map, or file that only a build needs', () => {
    const others = /\.map$|\.ts$|made-from$|bundled\.json$|^(?:src|scripts|test|pages)\//;
    expect(contents().filter((path) => others.test(path))).toEqual([]);
  });

  it('is not what npm publish would do in a clone: it would announce packages that are in dist', () => {
    const args = ['publish', '--dry-run', '--tag', 'none'];
    const options = { cwd: packed.clone, env: packed.environment([]), encoding: 'utf8' } as const;
    expect(() => execFileSync('npm', args, { ...options, stdio: 'pipe' })).toThrow(
      'Publish what `npm pack` made',
    );
  });
});

it('is installed without a network and a warning, and brings nothing along', async () => {
  const env = packed.environment([]);
  const { stderr } = await run('npm', ['install', packed.file], { cwd, env });
  expect(stderr).toBe('');
  const names = readdirSync(join(cwd, 'node_modules')).filter((name) => !name.startsWith('.'));
  expect(names).toEqual([COMMAND]);
});

for (const node of supportedNodes()) {
  describeWith(node, `the package on Node ${node.version}`, () => {
    let env: Record<string, string> = {};
    let gateway: Running | undefined;
    const command = (...args: string[]) => run(COMMAND, args, { cwd, env });

    beforeAll(() => {
      env = packed.environment([join(cwd, 'node_modules', '.bin'), node.folder]);
    });
    afterAll(async () => {
      gateway?.child.kill('SIGKILL');
      await gateway?.ended;
    });

    it('answers the first curl of the README', async () => {
      gateway = start(join(cwd, 'node_modules', '.bin', COMMAND), [], {
        cwd,
        env: { ...env, PORT: '0' },
      });
      const [, url = ''] = await gateway.says(/(http:\S+)\/graphql/);
      if (!curl?.answers[0]) throw new Error('The README has no curl with an answer.');
      expectAsShown(await runExample(curl, url), curl.answers[0]);
    });

    it('shows its pages', async () => {
      const [, url = ''] = (await gateway?.says(/(http:\S+)\/graphql/)) ?? [];
      for (const path of ['/graphql', '/console']) {
        const reply = await fetch(url + path, { headers: { accept: 'text/html' } });
        const [, script = ''] = /<script[^>]* src="([^"]+)"/.exec(await reply.text()) ?? [];
        const asset = await fetch(new URL(script, url + path));
        expect([script, asset.status]).toEqual([expect.stringMatching(/\.js$/), 200]);
        expect(asset.headers.get('content-encoding')).toBe('gzip');
      }
    });

    it('ends with 0 at SIGTERM', async () => {
      gateway?.child.kill('SIGTERM');
      expect(await gateway?.ended).toBe(0);
    });

    it('has every command', async () => {
      const { stdout: name } = await run('node', ['--version'], { cwd, env });
      expect(name).toMatch(`v${node.version}.`);
      const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
      expect((await command('--version')).stdout).toBe(`${version}\n`);
      const { stdout } = await command('print-schema');
      expect(stdout).toBe(readFileSync('schema.graphql', 'utf8'));
      expect((await command('check-config')).stdout).toMatch(/^The configuration is valid\./);
      const file = `tokens-${node.version}.json`;
      const token = ['--name', 'web', '--role', 'viewer', '--file', file];
      expect((await command('token', ...token)).stdout).toMatch(/^lmg_/);
      env = { ...env, AUTH_MODE: 'token', AUTH_TOKENS_FILE: file };
      expect((await command('check-config')).stdout).toContain(` ${file}\n`);
      const sandbox = start(COMMAND, ['sandbox', '--links-port', '0', '--market-port', '0'], {
        cwd,
        env,
      });
      await sandbox.says(/^curl '/m);
      sandbox.child.kill('SIGTERM');
      expect(await sandbox.ended).toBe(0);
    });
  });
}
