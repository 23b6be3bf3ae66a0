import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { formatTokenFile } from '../../../src/auth/token-file.ts';
import { builtPages, describeWith } from '../../support/needs.ts';
import { Packed } from '../../support/packed.ts';
import { type Running, start } from '../../support/process.ts';

/** A page of its user: what it imports, and does with a gateway. */
const PAGE = `
import { type introspection, retryingFetch, type Scalars } from 'links-market-client';
export const day: Scalars['Date'] = '2026-01-31';
export const kind: introspection['types']['Account']['kind'] = 'OBJECT';
// @ts-expect-error Not of the graph.
export type None = introspection['types']['Nothing'];
const url: string = (globalThis as unknown as { url: string }).url;
const response = await retryingFetch()(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: '{ account { username } }' }),
});
document.title = await response.text();
`;

describeWith(builtPages, '`npm install` of /client.tgz into an empty folder', () => {
  let packed: Packed;
  let env: Record<string, string>;
  let installed: string;
  let gateway: Running | undefined;
  beforeAll(() => {
    packed = new Packed();
    env = packed.environment([dirname(process.execPath)]);
    installed = packed.folder('gateway');
    execFileSync('npm', ['install', packed.file], { cwd: installed, env, stdio: 'pipe' });
  });
  afterEach(async () => {
    gateway?.child.kill('SIGKILL');
    await gateway?.ended;
  });
  afterAll(() => packed.remove());

  /** Starts the gateway of the packed file; resolves with its address. */
  async function begin(settings: Record<string, string> = {}): Promise<string> {
    const command = join(installed, 'node_modules/.bin/links-market-gateway');
    gateway = start(command, [], {
      cwd: installed,
      env: { ...env, PORT: '0', STATE_DIR: 'off', ...settings },
    });
    return (await gateway.says(/(http:\S+)\/graphql/))[1] ?? '';
  }

  function install(folder: string, ...args: readonly string[]): string {
    const cwd = packed.folder(folder);
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
    // npm counts a server of this machine as the network.
    execFileSync('npm', ['install', ...args], {
      cwd,
      env: { ...env, npm_config_offline: 'false', npm_config_fetch_retries: '0' },
      stdio: 'pipe',
    });
    return cwd;
  }

  it('brings a package that runs, with types, and nothing else', async () => {
    const url = await begin();
    const cwd = install('empty', `${url}/client.tgz`);
    const names = readdirSync(join(cwd, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(names).toEqual(['links-market-client']);
    writeFileSync(join(cwd, 'page.ts'), PAGE);
    const options =
      '--ignoreConfig --strict --target es2022 --lib es2023,dom --module nodenext --outDir .';
    const tsc = [resolve('node_modules/typescript/bin/tsc'), '--types', '', ...options.split(' ')];
    execFileSync(process.execPath, [...tsc, 'page.ts'], { cwd, stdio: 'pipe' });
    const run = `globalThis.url = '${url}/graphql'; globalThis.document = {};
      await import('./page.js'); console.log(document.title)`;
    const args = ['--input-type=module', '--eval', run];
    const said = execFileSync(process.execPath, args, { cwd, encoding: 'utf8' });
    expect(JSON.parse(said)).toMatchObject({ data: { account: { username: 'studio' } } });
    // Again, from what npm has noted of it.
    execFileSync('npm', ['ci'], { cwd, env: { ...env, npm_config_offline: 'false' } });
  });

  it('is the same file for a client that has it', async () => {
    const url = `${await begin()}/client.tgz`;
    const first = await fetch(url);
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'content-type': 'application/gzip',
      'cache-control': 'private, no-cache',
    });
    expect(first.headers.get('content-encoding')).toBeNull();
    expect(Buffer.from(await first.arrayBuffer())).toEqual(readFileSync('dist/client/client.tgz'));
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
    expect((await fetch(url, { headers })).status).toBe(304);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(405);
  });

  it('requires a token where the schema does, which npm can send', async () => {
    const tokens = join(installed, 'tokens.json');
    const entry = { name: 'web', role: 'viewer', sha256: hash('sha256', 'token-of-web') } as const;
    writeFileSync(tokens, formatTokenFile([entry]));
    const url = await begin({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: tokens });
    expect(() => install('refused', `${url}/client.tgz`)).toThrow(/E401/);
    const place = url.replace('http:', '');
    const cwd = install('admitted', `--${place}/:_authToken=token-of-web`, `${url}/client.tgz`);
    expect(readdirSync(join(cwd, 'node_modules'))).toContain('links-market-client');
  });
});
