import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { settings } from '../../src/settings.ts';
import { type Running, start } from '../support/process.ts';

const running: Running[] = [];

/** The built gateway in an environment that holds nothing but what is given. */
function gateway(env: Record<string, string> = {}, ...flags: string[]): Running {
  const process = start(globalThis.process.execPath, ['dist/main.js', ...flags], {
    cwd: '.',
    env: { PORT: '0', ...env },
  });
  running.push(process);
  return process;
}

async function urlOf(process: Running): Promise<string> {
  return (await process.says(/(http:\/\/localhost:\d+)\/graphql/))[1] ?? '';
}

beforeAll(() => {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
});

afterEach(async () => {
  await Promise.all(
    running.splice(0).map(({ child, ended }) => {
      child.kill('SIGKILL');
      return ended;
    }),
  );
});

describe('a start with nothing set', () => {
  it('says where it listens, what it stands on and what may be spent, and answers there', async () => {
    const process = gateway();
    const url = await urlOf(process);
    await process.says(/market .*embedded sandbox.*60 requests/);
    expect(process.output()).toMatch(/links .*embedded sandbox, at most 30 requests in any 60 s/);
    expect(process.output()).toContain('GraphiQL');
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ account { username } }"}',
    });
    expect(await response.json()).toMatchObject({
      data: { account: { username: expect.any(String) } },
    });
  });
});

describe('SIGTERM', () => {
  it('ends an idle process with 0', async () => {
    const process = gateway();
    await urlOf(process);
    process.child.kill('SIGTERM');
    expect(await process.ended).toBe(0);
  });

  it('lets a running request finish before it does', async () => {
    const process = gateway();
    const url = await urlOf(process);
    const body = '{"query":"{ account { username } }"}';
    const sent = request(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': body.length },
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
    expect(process.output()).toMatch(/^The configuration has 4 faults:/);
    for (const part of ['LINKS_API_KEY holds', 'MARKET_TIMEOUT_MS?', 'PORT="http"', 'AUTH_MODE']) {
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
      `Port ${port} on 127.0.0.1 is in use by another program. Set PORT to a free one; 0 picks one.\n`,
    );
    holder.close();
  });

  it('does not guess at an unknown argument', async () => {
    const process = gateway({}, '--prot=80');
    expect(await process.ended).toBe(2);
    expect(process.output()).toContain('--prot=80');
  });
});

describe('--help', () => {
  it('names every setting and the exit codes', async () => {
    const process = gateway({}, '--help');
    expect(await process.ended).toBe(0);
    for (const { name } of settings) {
      expect(process.output()).toContain(name);
    }
    expect(process.output()).toContain('Exit codes: 0');
  });
});
