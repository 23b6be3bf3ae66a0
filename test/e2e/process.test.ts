import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { settings } from '../../src/config/settings.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { arrival } from '../support/busy-gateway.ts';
import { tempFolder } from '../support/folder.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';

const running: Running[] = [];

/** The built gateway in an environment that holds nothing but what is given. */
function gateway(env: Record<string, string> = {}, ...flags: string[]): Running {
  const process = start(globalThis.process.execPath, [...GATEWAY, ...flags], {
    cwd: '.',
    env: { PORT: '0', STATE_DIR: 'off', ...env },
  });
  running.push(process);
  return process;
}

async function urlOf(process: Running): Promise<string> {
  return (await process.says(/(http:\/\/localhost:\d+)\/graphql/))[1] ?? '';
}

afterEach(async () => {
  await Promise.all(
    running.splice(0).map(({ child, ended }) => {
      child.kill('SIGKILL');
      return ended;
    }),
  );
});

describe('a start with nothing set', () => {
  it('says where it listens, what it stands on and what may be spent, answers there, and ends with 0', async () => {
    const process = gateway();
    const url = await urlOf(process);
    await process.says(/market .*embedded sandbox.*60 requests/);
    expect(process.output()).toMatch(/links .*embedded sandbox, at most 30 requests per 60 s/);
    expect(process.output()).toContain('GraphiQL');
    const [, links, market] =
      /sandbox +(http:\S+) \(links\), (http:\S+) \(market\)/.exec(process.output()) ?? [];
    for (const api of [links, market]) expect((await fetch(`${api}/__faults`)).status).toBe(200);
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ account { username } }"}',
    });
    expect(await response.json()).toMatchObject({
      data: { account: { username: expect.any(String) } },
    });
    process.child.kill('SIGTERM');
    expect(await process.ended).toBe(0);
  });
});

describe('SIGTERM', () => {
  it('lets a running request finish, and ends with every line of the log written', async () => {
    const process = gateway({ NODE_ENV: 'production', SANDBOX: 'on', LOG_LEVEL: 'info' });
    const url = await urlOf(process);
    const headers = { 'content-type': 'application/json' };
    const body = '{"query":"{ account { username } }"}';
    const ask = () =>
      fetch(`${url}/graphql`, { method: 'POST', headers, body }).then((answer) => answer.text());
    await ask();
    for (let n = 0; n < 10; n += 1) await Promise.all(Array.from({ length: 20 }, ask));
    const sent = request(`${url}/graphql`, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
    });
    // Half a request is one that is certainly running.
    sent.write(body.slice(0, 10));
    await fetch(`${url}/livez`);
    process.child.kill('SIGTERM');
    await process.says(/SIGTERM/);
    sent.end(body.slice(10));
    const [response] = await once(sent, 'response');
    expect(JSON.parse(await text(response))).toHaveProperty('data.account.username');
    expect(await process.ended).toBe(0);
    const messages = process
      .output()
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages.filter((message) => message === 'operation')).toHaveLength(202);
    expect(messages.at(-1)).toBe('stopped');
  });
});

describe('SIGTERM over a real upstream', () => {
  it('lets a write finish, answers it on its last connection, and logs all of it', async () => {
    const sandbox = await startSandbox();
    let open = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      open = resolve;
    });
    sandbox.links.fault({ kind: 'hold', until, times: 1 });
    const process = gateway({
      NODE_ENV: 'production',
      AUTH_MODE: 'none',
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
    });
    const [, url = ''] = await process.says(/"url":"(http[^"]+)\/graphql"/);
    const sent = request(`${url}/graphql`, {
      method: 'POST',
      agent: new Agent({ keepAlive: true }),
      headers: { 'content-type': 'application/json' },
    });
    sent.end(
      '{"query":"mutation Last { createDomain(input: { domain: \\"https://a.example\\" }) { __typename } }"}',
    );
    await arrival(sandbox.links);
    process.child.kill('SIGTERM');
    await process.says(/"stopping"/);
    open();
    const [response] = await once(sent, 'response');
    expect(response.headers.connection).toBe('close');
    expect(JSON.parse(await text(response))).toHaveProperty(
      'data.createDomain.__typename',
      'BrandedDomain',
    );
    expect(await process.ended).toBe(0);
    await sandbox.close();
    const lines = process.output().trim().split('\n');
    const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(logged.map(({ msg }) => msg)).toEqual(['started', 'stopping', 'operation', 'stopped']);
    expect(logged[2]).toMatchObject({ operation: 'Last', type: 'mutation', outcome: 'ok' });
    expect(process.output()).not.toContain(sandbox.links.key);
  });

  it('ends at once at a second one, however long the first would take', async () => {
    const sandbox = await startSandbox();
    sandbox.links.fault({ kind: 'hang' });
    const process = gateway({
      AUTH_MODE: 'none',
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
      LINKS_TIMEOUT_MS: '3600000',
    });
    const url = await urlOf(process);
    const lost = fetch(`${url}/graphql?query={account{username}}`).catch(() => 'lost');
    await arrival(sandbox.links);
    process.child.kill('SIGTERM');
    await process.says(/SIGTERM/);
    // Whatever comes right after the first counts as the same wish, so it takes a few.
    while (process.child.exitCode === null) {
      process.child.kill('SIGTERM');
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    expect(await process.ended).toBe(1);
    expect(await lost).toBe('lost');
    await sandbox.close();
  });
});

describe('an OpenTelemetry SDK that the process is started with', () => {
  it('gets a span for the operation and one for each upstream call', async () => {
    const process = start(
      globalThis.process.execPath,
      ['--import', './test/e2e/tiny-sdk.mjs', ...GATEWAY],
      { cwd: '.', env: { PORT: '0' } },
    );
    running.push(process);
    const url = await urlOf(process);
    await fetch(`${url}/graphql?query={account{username}}`);
    await process.says(/span graphql query/);
    expect(process.output()).toContain('span LINKS GET account');
  });
});

describe('check-config', () => {
  const real = { LINKS_BASE_URL: 'https://links.example', AUTH_MODE: 'none' };

  it('prints the value of every setting without secrets, and exits with 0', async () => {
    const folder = tempFolder();
    const file = join(folder, 'market-key');
    writeFileSync(file, 'market-s3cret');
    const process = gateway(
      {
        ...real,
        LINKS_API_KEY: 'links-s3cret',
        MARKET_BASE_URL: 'https://market.example',
        MARKET_API_KEY_FILE: file,
        MAX_WAIT_MS: '250',
      },
      'check-config',
    );
    expect(await process.ended).toBe(0);
    rmSync(folder, { recursive: true });
    for (const { name } of settings) expect(process.output()).toContain(`${name} `);
    expect(process.output()).toMatch(/^MAX_WAIT_MS +250$/m);
    expect(process.output()).toMatch(/^LINKS_RATE_LIMIT +30 \(default\)$/m);
    expect(process.output()).toMatch(/^LINKS_API_KEY +\*{8}$/m);
    expect(process.output()).toContain(`******** (from ${file})`);
    expect(process.output()).not.toContain('s3cret');
  });

  it('asks the upstreams with --probe, and exits with 2 where a setting is to be mended', async () => {
    const sandbox = await startSandbox();
    const settings = {
      AUTH_MODE: 'none',
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
    };
    const good = gateway(settings, 'check-config', '--probe');
    expect(await good.ended).toBe(0);
    expect(good.output()).toMatch(/^LINKS +127\.0\.0\.1:\d+ answers and accepts the key\.$/m);
    const wrong = { ...settings, LINKS_API_KEY: 'a-wrong-key' };
    const bad = gateway(wrong, '--probe', '--check-config');
    expect(await bad.ended).toBe(2);
    expect(bad.output()).toContain('rejects LINKS_API_KEY');
    const away = gateway(
      { ...settings, LINKS_BASE_URL: 'http://127.0.0.1:1' },
      'check-config',
      '--probe',
    );
    expect(await away.ended).toBe(1);
    await sandbox.close();
  });

  it('lists the faults and exits with 2, without starting anything', async () => {
    const process = gateway(real, '--check-config');
    expect(await process.ended).toBe(2);
    expect(process.output()).toMatch(
      /^The configuration has an error:\n  - LINKS_BASE_URL requires LINKS_API_KEY/,
    );
  });
});

describe('a start that cannot succeed', () => {
  it('lists all faults of the configuration at once and exits with 2', async () => {
    const process = gateway({
      LINKS_BASE_URL: 'https://links.example',
      LINKS_API_KEY: 'not for the eyes',
      MARKET_TIMEOUT: '1',
      PORT: 'http',
    });
    expect(await process.ended).toBe(2);
    expect(process.output()).toMatch(/^The configuration has 4 errors:/);
    for (const part of [
      'LINKS_API_KEY contains',
      'MARKET_TIMEOUT_MS?',
      'PORT="http"',
      'AUTH_MODE',
    ]) {
      expect(process.output()).toContain(part);
    }
    expect(process.output()).not.toContain('not for the eyes');
  });

  it('says in one line that the port is in use and exits with 1', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const address = holder.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const process = gateway({ PORT: port });
    expect(await process.ended).toBe(1);
    expect(process.output()).toBe(
      `Port ${port} on 127.0.0.1 is in use by another process. Set PORT to a free port, or to 0 for any.\n`,
    );
    holder.close();
  });
});

describe('the command line', () => {
  it.each(['--help', '-h', 'help', 'token --help', 'unheard-of --help'])(
    'helps at %s with commands, settings and exit codes',
    async (line) => {
      const process = gateway({}, ...line.split(' '));
      expect(await process.ended).toBe(0);
      for (const command of ['sandbox', 'token', 'export', 'check-config', 'print-schema']) {
        expect(process.output()).toMatch(new RegExp(`^  ${command} `, 'm'));
      }
      for (const { name } of settings) {
        expect(process.output()).toContain(name);
      }
      expect(process.output()).toContain('Exit codes: 0');
    },
  );

  it.each(['--version', '-v'])('says its version at %s', async (flag) => {
    const process = gateway({}, flag);
    expect(await process.ended).toBe(0);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(process.output()).toBe(`${version}\n`);
  });

  it.each([
    [
      ['serve'],
      'Unknown command serve. The commands are sandbox, token, export, check-config, print-schema,',
    ],
    [['constructor'], 'Unknown command constructor.'],
    [['', 'sandbox'], 'Unknown command .'],
    [['--port', '80'], 'Unknown argument --port.'],
    [['--probe'], 'Unknown argument --probe.'],
    [['sandbox', '--port=80'], 'Unknown argument --port=80.'],
    [['token', 'web'], 'Unknown argument web.'],
    [['token', '--name'], "Option '--name <value>' argument missing."],
    [['check-config', '--probe=all'], "Option '--probe' does not take an argument."],
    [['check-config', '--all'], 'Unknown argument --all.'],
    [['--version', 'now'], 'Unknown argument now.'],
    [['print-schema', '--', 'x'], 'Unknown argument x.'],
  ])('ends with 2 and one line at %j', async (args, line) => {
    const process = gateway({}, ...args);
    expect(await process.ended).toBe(2);
    expect(process.output().startsWith(line), process.output()).toBe(true);
    expect(process.output()).toMatch(/^.* Try --help\.\n$/);
  });

  it('prints the graph as the repository has it', async () => {
    const process = gateway({}, 'print-schema');
    expect(await process.ended).toBe(0);
    expect(process.output()).toBe(readFileSync('schema.graphql', 'utf8'));
  });

  it('ends silently when its reader is gone', async () => {
    const command = [globalThis.process.execPath, ...GATEWAY, 'print-schema'].join(' ');
    const process = start('bash', ['-c', `{ ${command}; echo "ended with $?" >&2; } | exit 0`], {
      cwd: '.',
      env: {},
    });
    running.push(process);
    await process.ended;
    expect(process.output()).toBe('ended with 0\n');
  });

  it('names the Node that it needs, on one that could not run it', async () => {
    const older = 'Object.defineProperty(process,"versions",{value:{node:"20.18.3"}})';
    const process = start(
      globalThis.process.execPath,
      ['--import', `data:text/javascript,${older}`, ...GATEWAY],
      { cwd: '.', env: {} },
    );
    running.push(process);
    expect(await process.ended).toBe(1);
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      engines: { node: string };
    };
    const needed = engines.node.replace('>=', '');
    expect(process.output()).toMatch(`requires Node.js ${needed} or later; this is v`);
  });
});
