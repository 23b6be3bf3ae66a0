import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { openDoor } from '../support/door.ts';
import { tempFolder, tokenFile } from '../support/folder.ts';
import { freePort } from '../support/free-port.ts';
import { openSandbox, PLENTY } from '../support/gateway.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';

/** Each channel costs a request: a job of several steps. */
const NESTED = '{ channels { nodes { id name items(first: 100) { nodes { __typename } } } } }';
const FLAT = '{ channels(search: "ar") { nodes { id name } } }';
/** Of the last channel that is read. */
const LAST_ITEMS = '/api/channel/21';

let sandbox: Sandbox;
let folder: string;
let url: string;
let port: number;
/** Of all tests; another one takes its place where it is killed. */
let gateway: Running;
/** How many jobs there were before a test. */
let before: number;
const running: Running[] = [];

beforeAll(async () => {
  sandbox = await openSandbox();
  folder = tempFolder();
  port = await freePort();
  url = `http://127.0.0.1:${port}`;
  gateway = await begin();
});
beforeEach(async () => {
  before = (await jobs()).length;
});
afterEach(async () => {
  sandbox.links.clearFaults();
  sandbox.links.clearLog();
  await end(running.splice(0));
});
afterAll(() => end([gateway]));

async function end(programs: readonly Running[]): Promise<void> {
  for (const { child } of programs) child.kill('SIGKILL');
  await Promise.all(programs.map(({ ended }) => ended));
}

/** The built gateway over the sandbox, on one port and one folder. Each job reads anew. */
async function begin(env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const started = start(process.execPath, GATEWAY, {
    cwd: '.',
    env: {
      PORT: String(port),
      AUTH_MODE: 'none',
      LINKS_BASE_URL: sandbox.links.url,
      LINKS_API_KEY: sandbox.links.key,
      LINKS_RATE_LIMIT: String(PLENTY),
      LINKS_RATE_WINDOW_MS: '1000',
      STATE_DIR: join(folder, 'state'),
      'ttl.channels': '1',
      'ttl.channelItems': '1',
      ...env,
    },
  });
  await started.says(/http:\/\/localhost:\d+\/graphql/);
  return started;
}

interface Exporting extends Running {
  /** What it has written to standard output. */
  readonly rows: () => string;
}

/** The command, for a query. */
function exporting(
  query: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Exporting {
  const file = join(folder, 'query.graphql');
  writeFileSync(file, query);
  const command = ['dist/main.js', 'export', file, '--url', url, ...args];
  const started = start(process.execPath, command, { cwd: '.', env });
  running.push(started);
  let rows = '';
  started.child.stdout?.on('data', (text: string) => {
    rows += text;
  });
  return { ...started, rows: () => rows };
}

/** The rows of a query by an export without disturbance. */
async function undisturbed(query: string): Promise<string> {
  const command = exporting(query);
  expect(await command.ended).toBe(0);
  return command.rows();
}

async function ask<T>(query: string): Promise<T> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  return ((await response.json()) as { readonly data: T }).data;
}

interface ListedJob {
  readonly id: string;
  readonly state: string;
  readonly bytes: number;
}

/** The jobs of the gateway, the latest first. */
async function jobs(): Promise<readonly ListedJob[]> {
  const query = '{ jobs(first: 50) { nodes { id state bytes } } }';
  return (await ask<{ jobs: { nodes: ListedJob[] } }>(query)).jobs.nodes;
}

/** Holds back the last channel until the returned function is called. */
function hold(): () => void {
  let release = (): void => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  sandbox.links.fault({ kind: 'hold', path: LAST_ITEMS, until });
  return release;
}

/** Resolves when the channel is requested that is held back. */
async function held(): Promise<void> {
  const isHeld = () => sandbox.links.requests.some(({ path }) => path === LAST_ITEMS);
  await expect.poll(isHeld).toBe(true);
}

describe('the export command', () => {
  it('writes the rows to standard output, and nothing else', async () => {
    const command = exporting(FLAT);
    expect(await command.ended).toBe(0);
    const { channels } = await ask<{ channels: { nodes: unknown[] } }>(
      '{ channels(search: "ar", first: 50) { nodes { id name } } }',
    );
    expect(command.rows()).toBe(channels.nodes.map((row) => `${JSON.stringify(row)}\n`).join(''));
    expect(command.output()).toMatch(/^Complete: \d+ rows, 1 calls, 0 with errors\.$/m);
  });

  it('writes CSV', async () => {
    const command = exporting(FLAT.replace('"ar"', '"Recruiting"'), ['--format', 'csv']);
    expect(await command.ended).toBe(0);
    expect(command.rows()).toMatch(/^id,name,__errors\r\n\w+,Recruiting,\r\n$/);
  });

  it('exits with 2 for an invalid query', async () => {
    const command = exporting('{ channels { nodes { colour } } }');
    expect(await command.ended).toBe(2);
    expect(command.output()).toMatch(/^input\.query: .*colour/);
    expect(await jobs()).toHaveLength(before);
  });

  it.each([
    [['--format', 'xml'], /^--format must be jsonl or csv/],
    [['--url', 'ftp://example.com'], /^--url must be an address/],
    [['other.graphql'], /^Unknown argument other\.graphql/],
  ])('exits with 2 for the arguments %j', async (args, message) => {
    const command = exporting(FLAT, args);
    expect(await command.ended).toBe(2);
    expect(command.output()).toMatch(message);
  });

  it('sends the token of GATEWAY_TOKEN, and does not print it', async () => {
    const door = await openDoor({
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: tokenFile({ name: 'bot', role: 'viewer' }),
    });
    const exportAs = (token: string) =>
      exporting(FLAT, ['--url', door.url], { GATEWAY_TOKEN: token });
    expect(await exportAs('bot').ended).toBe(0);
    for (const wrong of ['another-token', 'a token\nin two lines']) {
      const refused = exportAs(wrong);
      expect(await refused.ended).toBe(wrong.includes(' ') ? 2 : 1);
      expect(refused.output()).toContain('GATEWAY_TOKEN');
      expect(refused.output()).not.toContain(wrong);
    }
  });

  it('exits with 3 if rows have errors', async () => {
    sandbox.links.fault({
      kind: 'answer',
      path: LAST_ITEMS,
      rewrite: (answer) => ({ ...answer, body: { error: 1, message: 'No.' } }),
    });
    const command = exporting(NESTED);
    expect(await command.ended).toBe(3);
    expect(command.output()).toMatch(/^Complete: 28 rows, .* 1 with errors\.$/m);
    expect(command.rows()).toContain('"__errors"');
  });

  it('exits with 1 if the job is canceled', async () => {
    const release = hold();
    const command = exporting(NESTED);
    await held();
    const [job] = await jobs();
    await ask(`mutation { cancelJob(id: "${job?.id}") { id } }`);
    release();
    expect(await command.ended).toBe(1);
    expect(command.output()).toContain('is CANCELED.');
    expect(command.rows()).toBe('');
  });

  it('continues after the gateway was killed, with each byte once', async () => {
    const release = hold();
    const command = exporting(NESTED);
    await held();
    await end([gateway]);
    release();
    gateway = await begin();
    expect(await command.ended).toBe(0);
    expect(await jobs()).toHaveLength(before + 1);
    expect(command.rows()).toBe(await undisturbed(NESTED));
  });

  it('starts one job, although the response to its start was lost', async () => {
    let losses = 2;
    const proxy = createServer((client) => {
      const upstream = connect(port, '127.0.0.1');
      client.pipe(upstream).on('error', () => {});
      client.on('error', () => {});
      upstream.on('data', (bytes) => {
        losses -= 1;
        if (losses >= 0) client.destroy();
        else client.write(bytes);
      });
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port: lossy } = proxy.address() as AddressInfo;
    const command = exporting(FLAT, ['--url', `http://127.0.0.1:${lossy}`]);
    expect(await command.ended).toBe(0);
    proxy.close();
    expect(losses).toBeLessThan(0);
    expect(await jobs()).toHaveLength(before + 1);
    expect(command.rows()).toBe(await undisturbed(FLAT));
  });

  it('ends silently if the reader of its rows has left', async () => {
    const release = hold();
    const command = exporting(NESTED);
    await held();
    command.child.stdout?.destroy();
    release();
    expect(await command.ended).toBe(0);
    expect(command.output()).not.toMatch(/EPIPE|Complete/);
  });
});
