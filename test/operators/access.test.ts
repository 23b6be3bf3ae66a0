import { once } from 'node:events';
import { createServer, IncomingMessage } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { isLocal } from '../../src/http/door/local-caller.ts';
import { operatorRoutes } from '../../src/operators/operator-pages.ts';
import { anyDoor } from '../support/any-door.ts';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { proxies, statusOf, usualHeaders } from '../support/proxies.ts';
import { askRaw } from '../support/raw-reply.ts';

describe('Metrics and the console', () => {
  const statuses = async (env: Record<string, string>, headers: Record<string, string> = {}) => {
    const started = await busyGateway(env);
    const paths = ['/metrics', '/console.json', '/readyz'];
    const answers = await Promise.all(paths.map((path) => fetch(started.url + path, { headers })));
    await started.close();
    return answers.map(({ status }) => status);
  };

  it('local shows them to this machine', async () => {
    expect(await statuses({})).toEqual([200, 200, 200]);
  });

  describe('local', () => {
    let started: BusyGateway;
    beforeAll(async () => {
      started = await busyGateway({ ALLOWED_HOSTS: 'gateway,gateway.example' });
    });

    it.each(proxies)('denies them through $by', async ({ headers, version }) => {
      const sent = { url: started.url, version, headers };
      const statuses: number[] = [];
      for (const path of ['/metrics', '/status', '/console', '/console.json']) {
        statuses.push(await statusOf({ ...sent, path }));
      }
      expect(statuses).toEqual([403, 403, 403, 403]);
      expect(await statusOf({ ...sent, path: '/livez' })).toBe(200);
    });

    it('shows them to this machine, whatever else its programs send', async () => {
      const headers = Object.fromEntries(usualHeaders.map((name) => [name, 'x']));
      for (const path of ['/metrics', '/console.json']) {
        expect(await statusOf({ url: started.url, path, version: '1.1', headers })).toBe(200);
      }
    });
  });

  it('local denies them over HTTP/1.0, which nginx uses by default', async () => {
    const started = await busyGateway();
    await started.ask('{ account { username } }');
    const { port } = new URL(started.url);
    const ask = async (path: string, version: string): Promise<string> => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(`GET ${path} HTTP/${version}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      return text(socket);
    };
    for (const path of ['/metrics', '/console.json', '/console', '/status']) {
      expect(await ask(path, '1.0')).toMatch(/^HTTP\/1\.1 403 /);
    }
    expect(await ask('/readyz', '1.0')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask('/metrics', '1.1')).toMatch(/^HTTP\/1\.1 200 /);
    await started.close();
    const open = await busyGateway({ metrics: 'open' });
    const asked = { port: new URL(open.url).port };
    const socket = connect(Number(asked.port), '127.0.0.1');
    socket.write('GET /console.json HTTP/1.0\r\nHost: localhost\r\n\r\n');
    expect(await text(socket)).toContain('"named":false');
  });

  it('local does not show them to a page whose name was made to point at this machine', async () => {
    const pages = operatorRoutes({
      access: 'local',
      metrics: { render: async () => ({ contentType: 'text/plain', text: '' }) },
      console: {},
      probe: () => {},
      state: () => ({ ready: true, reasons: [], degraded: [] }),
    });
    const door = anyDoor();
    const server = createServer((asked, answer) =>
      pages['/metrics']?.answer(asked, answer, door.admit(asked, false)),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const foreign =
      'evil.example|localhost.evil.example|evillocalhost|evillocalhost:4000|evil.127.0.0.1|127.0.0.1.evil.example|evil[::1]|[::1].evil|localhost:4000:80';
    const hosts = { 200: ['localhost:4000', '[::1]:4000'], 403: foreign.split('|') };
    for (const [status, host] of Object.entries(hosts).flatMap(([key, all]) =>
      all.map((each) => [Number(key), each] as const),
    )) {
      const answer = await askRaw(`http://127.0.0.1:${port}/`, { headers: { host } });
      expect([host, answer.status]).toEqual([host, status]);
    }
    server.close();
  });

  it('open permits them to all clients', async () => {
    const proxied = { 'x-forwarded-for': '203.0.113.9' };
    expect(await statuses({ metrics: 'open' }, proxied)).toEqual([200, 200, 200]);
  });
});

describe('A connection', () => {
  const from = (remoteAddress: string | undefined): boolean => {
    const asked = new IncomingMessage(new Socket());
    Object.defineProperty(asked.socket, 'remoteAddress', { value: remoteAddress });
    return isLocal(Object.assign(asked, { httpVersion: '1.1', headers: { host: 'LocalHost' } }));
  };

  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])('from %s is local', (address) => {
    expect(from(address)).toBe(true);
  });

  it.each([
    '192.0.2.127',
    '10.127.0.0',
    '::ffff:192.0.2.7',
    '2001:db8::1',
    '::1:2',
    'fe80::1',
    '2127.0.0.1',
    '',
    undefined,
  ])('from %s is not, whatever host it asks for', (address) => {
    expect(from(address)).toBe(false);
  });
});
