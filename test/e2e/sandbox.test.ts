import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Running, start } from '../support/process.ts';

let running: Running[] = [];

afterEach(async () => {
  for (const { child, ended } of running) {
    child.kill('SIGKILL');
    await ended;
  }
  running = [];
});

function command(linksPort = '0', marketPort = '0'): Running {
  const ports = ['--links-port', linksPort, '--market-port', marketPort];
  const started = start(process.execPath, ['dist/main.js', 'sandbox', ...ports], {
    cwd: '.',
    env: {},
  });
  running.push(started);
  return started;
}

describe('the sandbox command', () => {
  it('prints addresses and keys, and curl lines that work', async () => {
    const sandbox = command();
    await sandbox.says(/^curl '.*$/m);
    const lines = sandbox.output().match(/^curl .*$/gm) ?? [];
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      const [, url = ''] = /(http:\/\/[^\s']+)/.exec(line) ?? [];
      const [, key] = /Authorization: (Bearer \w+)/.exec(line) ?? [];
      const response = await fetch(url, key ? { headers: { authorization: key } } : {});
      expect(response.status).toBe(200);
      expect(sandbox.output()).toContain(new URL(url).origin);
    }
    const [, url = '', body = ''] = /^ +curl (\S+) -d '(.+)'$/m.exec(sandbox.output()) ?? [];
    expect((await fetch(url, { method: 'POST', body })).status).toBe(201);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('stops on %s', async (signal) => {
    const sandbox = command();
    await sandbox.says(/^curl '/m);
    sandbox.child.kill(signal);
    expect(await sandbox.ended).toBe(0);
  });

  it('ends with one line when a port is in use or is none', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve);
    });
    const { port } = other.address() as { port: number };
    const busy = command('0', String(port));
    expect(await busy.ended).toBe(1);
    expect(busy.output()).toBe(`The sandbox cannot start: port ${port} is in use.\n`);
    other.close();
    const wrong = command('http');
    expect(await wrong.ended).toBe(2);
    expect(wrong.output()).toContain('--links-port is not a port from 0 to 65535.');
  });
});
