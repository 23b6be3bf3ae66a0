import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Packed } from '../../support/packed.ts';
import { type Running, start } from '../../support/process.ts';

/** A registry that has one package in one version, as npm asks it. */
interface Registry {
  readonly url: string;
  /** Who has asked already gets no answer from now on. */
  close(): void;
}

/** Serves a packed file as the package that its manifest describes. */
async function startRegistry(
  file: string,
  manifest: { readonly name: string; readonly version: string },
): Promise<Registry> {
  const tarball = readFileSync(file);
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const server = createServer((request, response) => {
    const { host = '' } = request.headers;
    const { name, version } = manifest;
    if (request.url === `/${name}`) {
      const dist = { tarball: `http://${host}/package.tgz`, integrity };
      const versions = { [version]: { ...manifest, dist } };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
    } else if (request.url === '/package.tgz') response.end(tarball);
    else response.writeHead(404).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

let packed: Packed;
let registry: Registry;
let env: Record<string, string> = {};
const running: Running[] = [];

beforeAll(async () => {
  packed = new Packed();
  const args = ['-xzOf', packed.file, 'package/package.json'];
  const manifest = execFileSync('tar', args, { encoding: 'utf8' });
  registry = await startRegistry(packed.file, JSON.parse(manifest));
  env = {
    ...packed.environment([]),
    npm_config_offline: 'false',
    npm_config_registry: registry.url,
    npm_config_yes: 'true',
    PORT: '0',
  };
});
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
});
afterAll(() => {
  registry.close();
  packed.remove();
});

/** Runs npx as a shell does, in an empty folder where no other is given. */
function npx(line: string, options: { cwd?: string; port?: number } = {}): Running {
  const { cwd = packed.folder('empty'), port = 0 } = options;
  const started = start('sh', ['-c', `exec npx ${line}`], {
    cwd,
    env: { ...env, PORT: String(port) },
  });
  running.push(started);
  return started;
}

async function urlOf(gateway: Running): Promise<string> {
  return (await gateway.says(/(http:\S+)\/graphql/))[1] ?? '';
}

async function expectAnswer(gateway: Running): Promise<void> {
  const reply = await fetch(`${await urlOf(gateway)}/graphql?query={account{username}}`);
  expect(await reply.json()).toMatchObject({ data: { account: { username: 'studio' } } });
}

describe('npx links-market-gateway', () => {
  it('answers', async () => {
    await expectAnswer(npx('links-market-gateway'));
  });

  it('answers without standard input', async () => {
    await expectAnswer(npx('links-market-gateway <&-'));
  });

  it('answers where nothing can be written', async () => {
    await expectAnswer(npx('links-market-gateway', { cwd: '/proc' }));
  });

  it('ends by SIGTERM, and the gateway with it, though a shell stands between them', async () => {
    const gateway = npx('links-market-gateway');
    const url = await urlOf(gateway);
    gateway.child.kill('SIGTERM');
    // Which is once neither of them holds its output any longer.
    expect([0, 143, 'SIGTERM']).toContain(await gateway.ended);
    expect(gateway.output()).toContain('SIGTERM: waiting for running operations');
    await expect(fetch(url)).rejects.toThrow();
  });

  it('says in one line that the port is in use, and which setting to change', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const gateway = npx('links-market-gateway', { port });
    expect(await gateway.ended).toBe(1);
    expect(gateway.output()).toMatch(new RegExp(`^Port ${port} .*in use.*Set PORT.*\n$`));
    other.close();
  });

  it('ends with 2 at a command that there is not', async () => {
    const gateway = npx('links-market-gateway serve');
    expect(await gateway.ended).toBe(2);
    expect(gateway.output()).toMatch(/^Unknown command serve\..*\n$/);
  });

  it('answers without a network, once it was there', async () => {
    registry.close();
    await expectAnswer(npx('--offline links-market-gateway'));
  });
});
