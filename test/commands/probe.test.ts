import { chmodSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probe } from '../../src/commands/probe.ts';
import type { Config } from '../../src/config/config.ts';
import { createGateway } from '../../src/gateway.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { configOf } from '../support/config.ts';
import { tempFolder } from '../support/folder.ts';
import { openFolder } from '../support/store.ts';

const folder = tempFolder();
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

let folders = 0;
function configure(env: Readonly<Record<string, string>> = {}): Config {
  folders += 1;
  const { links, market } = sandbox;
  return configOf({
    AUTH_MODE: 'none',
    LINKS_BASE_URL: links.url,
    ...(env['AUTH_MODE'] === 'passthrough' ? {} : { LINKS_API_KEY: links.key }),
    MARKET_BASE_URL: market.url,
    MARKET_API_KEY: market.key,
    LINKS_TIMEOUT_MS: '2000',
    STATE_DIR: join(folder, String(folders)),
    ...env,
  });
}

/** What a probe finds while the link API answers as told. */
async function faulty(status: number, body: unknown, headers: Record<string, string> = {}) {
  const restore = sandbox.links.fault({
    kind: 'answer',
    rewrite: (answer) => ({ status, headers: { ...answer.headers, ...headers }, body }),
  });
  try {
    return await probe(configure());
  } finally {
    restore();
  }
}

const fine = /^MARKET  127\.0\.0\.1:\d+ answers and accepts the key\.$/;

describe('a probe', () => {
  it('asks each upstream once, and finds nothing wrong where nothing is', async () => {
    sandbox.links.clearLog();
    sandbox.market.clearLog();
    const { lines, wrong } = await probe(configure());
    expect(lines).toEqual([
      expect.stringMatching(/^LINKS   127\.0\.0\.1:\d+ answers and accepts the key\.$/),
      expect.stringMatching(fine),
    ]);
    expect([wrong, sandbox.links.requests.length, sandbox.market.requests.length]).toEqual([
      'nothing',
      1,
      1,
    ]);
  });

  it.each<[string, (links: string) => Record<string, string>, RegExp, string]>([
    [
      'a wrong key',
      () => ({ LINKS_API_KEY: 'a-wrong-key' }),
      /rejects LINKS_API_KEY/,
      'configuration',
    ],
    [
      'a machine that does not exist',
      () => ({ LINKS_BASE_URL: 'http://links.invalid' }),
      /The host of LINKS_BASE_URL cannot be resolved \(ENOTFOUND\)|is unreachable \(EAI_AGAIN\)/,
      expect.anything(),
    ],
    [
      'a port without a listener',
      () => ({ LINKS_BASE_URL: 'http://127.0.0.1:1' }),
      /is unreachable \(ECONNREFUSED\)/,
      'world',
    ],
    [
      'https where http is spoken',
      (links) => ({ LINKS_BASE_URL: links.replace('http:', 'https:') }),
      /does not use the protocol of the URL \(\w+\)/,
      'configuration',
    ],
  ])('finds %s', async (_, env, sentence, at) => {
    const { lines, wrong } = await probe(configure(env(sandbox.links.url)));
    expect(lines[0]).toMatch(sentence);
    expect(lines[1]).toMatch(fine);
    expect(wrong).toEqual(at);
    expect(lines.join()).not.toContain('a-wrong-key');
  });

  it('finds a web page in the place of the API, a redirect, and other JSON', async () => {
    const page = await faulty(200, '<html>Welcome</html>');
    expect(page.lines[0]).toMatch(/serves a web page instead of the API \(HTTP 200 with HTML\)/);
    const moved = await faulty(301, '', { location: 'https://elsewhere.example' });
    expect(moved.lines[0]).toMatch(/LINKS_BASE_URL redirects \(HTTP 301\)/);
    const other = await faulty(200, { hello: 'world' });
    expect(other.lines[0]).toMatch(/does not serve the expected API/);
    const none = await faulty(404, { error: 1, message: 'Not found' });
    expect(none.lines[0]).toMatch(/does not return the account of LINKS_API_KEY \(HTTP 404\)/);
    expect([page, moved, other, none].map(({ wrong }) => wrong)).toEqual(
      Array.from({ length: 4 }, () => 'configuration'),
    );
  });

  it('does not blame the configuration for what is out of order', async () => {
    const { lines, wrong } = await faulty(503, '<html>Maintenance</html>');
    expect([lines[0], wrong]).toEqual([
      'LINKS   The link-management API is unavailable (HTTP 503 with HTML).',
      'world',
    ]);
  });

  it('finds clocks that are apart', async () => {
    const late = {
      ...systemClock,
      now: () => systemClock.now(),
      wall: () => systemClock.wall() + 600_000,
      after: (ms: number, task: () => void) => systemClock.after(ms, task),
    };
    const { lines, wrong } = await probe(configure(), late);
    expect(lines[0]).toMatch(
      /The clock of this machine is (600|601) s ahead of the clock of the link-management API/,
    );
    expect(wrong).toBe('world');
  });

  it('asks for no key where callers bring them', async () => {
    const { lines, wrong } = await probe(configure({ AUTH_MODE: 'passthrough' }));
    expect(lines[0]).toMatch(/answers and expects the keys of callers\.$/);
    expect(wrong).toBe('nothing');
  });

  it('leaves the sandbox alone', async () => {
    const { lines, wrong } = await probe(configOf({}));
    expect([lines, wrong]).toEqual([
      ['The sandbox is part of the gateway and is not probed.'],
      'nothing',
    ]);
  });
});

describe('what a probe spends', () => {
  const used = async (config: Config): Promise<unknown> => {
    const store = await openFolder(join(config.stateDir ?? '', 'store'));
    const gateway = await createGateway(config, { store });
    const response = await gateway.fetch(
      new Request('http://gateway/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"query":"{ rateLimit { used } }"}',
      }),
    );
    const { data } = (await response.json()) as { data: unknown };
    await gateway.close();
    return data;
  };

  it('counts for the next process, and what the one before has spent for it', async () => {
    // A key without other users: its headers show no co-tenants.
    const state = { STATE_DIR: join(folder, 'shared'), LINKS_API_KEY: sandbox.links.keys.pro };
    await probe(configure(state));
    await probe(configure(state));
    // Of 30, half is left alone where nothing was remembered at first.
    expect(await used(configure(state))).toEqual({ rateLimit: { used: 15 + 2 } });
  });

  it('warns of a folder that others can write to, and asks all the same', async () => {
    const STATE_DIR = join(folder, 'open');
    mkdirSync(STATE_DIR);
    chmodSync(STATE_DIR, 0o777);
    const { lines, wrong } = await probe(configure({ STATE_DIR }));
    expect(lines[0]).toMatch(/answers and accepts the key/);
    expect(lines.at(-1)).toMatch(/^STATE_DIR .* is writable by other users/);
    expect(wrong).toBe('nothing');
  });

  it('is nothing while another process owns what is remembered and cannot be asked', async () => {
    const config = configure({ PORT: '0' });
    const store = await openFolder(join(config.stateDir ?? '', 'store'));
    sandbox.links.clearLog();
    const { lines, wrong } = await probe(config);
    expect(lines.join('\n')).toMatch(
      /No upstream request was sent.\nSTATE_DIR .* is in use[^]*Run this command with the settings and the user of the running gateway/,
    );
    expect([wrong, sandbox.links.requests.length]).toEqual(['world', 0]);
    await store.close();
  });

  it('is nothing while the limit is used up', async () => {
    const state = { STATE_DIR: join(folder, 'full'), LINKS_RATE_LIMIT: '1', MAX_WAIT_MS: '0' };
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"error":0,"data":{"id":1}}');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const config = configure({ ...state, LINKS_BASE_URL: `http://127.0.0.1:${port}` });
    expect((await probe(config)).wrong).toBe('nothing');
    const second = await probe(config);
    expect(second.lines[0]).toMatch(
      /The rate limit of the link-management API is reached. Retry in \d+ s/,
    );
    expect(second.wrong).toBe('world');
    server.closeAllConnections();
    server.close();
  });
});
