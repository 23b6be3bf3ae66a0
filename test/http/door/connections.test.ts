import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { asTimePasses, until } from '../../support/uploads.ts';

const origin = 'https://app.example';
const ORIGIN = `Origin: ${origin}\r\n`;

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'passthrough', CORS_ORIGINS: origin });
});

/** A connection on which a test writes bytes as it likes. */
async function open(): Promise<Socket> {
  const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
  // Cut off while it sends: what came of it is looked at instead.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** All that comes back until the gateway closes the connection. */
async function exchange(bytes: string): Promise<string> {
  const socket = await open();
  let answer = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    answer += part;
  });
  socket.write(bytes);
  // And not `once`, which takes a reset of the connection for a failure: newer Nodes report it after the answer.
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}

const post = (headers: string): string =>
  `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n`;
const KEYED = 'Authorization: Bearer 123456789\r\n';
const LAST = 'Connection: close\r\n';

describe('A header that may be given once', () => {
  it.each([
    ['Host', 'Host: localhost\r\nHost: elsewhere.example\r\n'],
    ['host, however it is spelled', 'Host: localhost\r\nhost: localhost\r\n'],
    [
      'Authorization',
      'Host: localhost\r\nAuthorization: Bearer 111111\r\nAuthorization: Bearer 222222\r\n',
    ],
  ])('is refused when it is given twice: %s', async (_, headers) => {
    for (const path of ['/graphql?query={__typename}', '/livez', '/metrics', '/files/a.txt']) {
      const answer = await exchange(`GET ${path} HTTP/1.1\r\n${headers}${ORIGIN}\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('"code":"BAD_USER_INPUT"');
      expect(answer).toContain(`Access-Control-Allow-Origin: ${origin}`);
      expect(answer).toMatch(/X-Request-Id: /);
    }
    expect(door.calls()).toBe(0);
  });
});

describe('A body that does not come', () => {
  /** This many connections, each with a part of a body, and then a byte every eight seconds. */
  async function trickle(head: string, count: number): Promise<void> {
    const sockets = await Promise.all(Array.from({ length: count }, open));
    const closed = sockets.map((socket) => once(socket, 'close'));
    for (const socket of sockets) socket.resume().write(`${head}{"query`);
    await until(() => sockets.every(({ bytesWritten }) => bytesWritten > 0));
    for (let second = 0; second < 64; second += 8) {
      await door.clock.advance(8000);
      for (const socket of sockets) if (socket.writable) socket.write('x');
    }
    await Promise.all(closed);
  }

  it.each([
    ['of a known caller', post(`${KEYED}Content-Length: 1000\r\n`)],
    ['of a known caller, of no announced length', post(`${KEYED}Transfer-Encoding: chunked\r\n`)],
    ['of an unknown caller', post('Content-Length: 1000\r\n')],
    ['where nothing is', post('Content-Length: 1000\r\n').replace('/graphql', '/nothing')],
    ['of a probe', post('Content-Length: 1000\r\n').replace('/graphql', '/livez')],
    [
      'of an unknown uploader',
      post('Content-Length: 99\r\n').replace('POST /graphql', 'PUT /files/a.txt'),
    ],
  ])('ends its connection after a minute: %s', (_, head) => trickle(head, 20));
});

describe('Bytes that are no request worth answering', () => {
  it.each([
    [
      'too many headers',
      `GET /livez HTTP/1.1\r\nHost: x\r\n${'A: bbbbbbbb\r\n'.repeat(5000)}\r\n`,
      431,
    ],
    [
      'a header that does not end',
      `GET /livez HTTP/1.1\r\nHost: x\r\nA: ${'b'.repeat(70_000)}`,
      431,
    ],
    [
      'a chunk whose extension does not end',
      post(`${KEYED}Transfer-Encoding: chunked\r\n`) + `5;${'x'.repeat(70_000)}`,
      413,
    ],
    ['two lengths', post('Content-Length: 1\r\nContent-Length: 2\r\n'), 400],
    ['a length and chunks', post('Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'), 400],
    ['no host', 'GET /livez HTTP/1.1\r\n\r\n', 400],
    [
      'an expectation of its own',
      `GET /livez HTTP/1.1\r\nHost: x\r\n${LAST}Expect: tea\r\n\r\n`,
      417,
    ],
  ])('are answered and cut off: %s', async (_, bytes, status) => {
    const answer = await exchange(bytes);
    expect(Number(answer.split(' ')[1])).toBe(status);
    expect(answer).not.toMatch(/node_modules|\.js:|Error:/);
  });
});

describe('A method that no route expects', () => {
  const paths = [
    '/graphql',
    '/files/a.txt',
    '/livez',
    '/readyz',
    '/metrics',
    '/console.json',
    '/',
    '/x',
  ];
  it.each(['HEAD', 'OPTIONS', 'TRACE', 'DELETE', 'PATCH', 'PROPFIND', 'LOCK', 'QUERY'])(
    'is answered on every route, and says nothing of the inside: %s',
    async (method) => {
      for (const path of paths) {
        const answer = await exchange(
          `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${LAST}\r\n`,
        );
        const status = Number(answer.split(' ')[1]);
        expect(status, `${method} ${path}`).toBeGreaterThanOrEqual(200);
        expect(status, `${method} ${path}`).toBeLessThan(500);
        expect(answer).not.toMatch(/node_modules|\.js:|Error:/);
      }
      expect(door.calls()).toBe(0);
    },
  );

  it('CONNECT and an upgrade open nothing', async () => {
    await exchange('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n');
    const upgrade = 'Upgrade: websocket\r\nConnection: upgrade, close\r\n';
    const answer = await exchange(`GET /livez HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200/);
  });

  it('a WebSocket to /graphql gets an error that names live queries', async () => {
    const upgrade = 'Upgrade: WebSocket\r\nConnection: upgrade, close\r\n';
    for (const path of ['/graphql', '/graphql?token=x']) {
      const answer = await exchange(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400/);
      expect(answer).toMatch(/WebSockets are not supported.*@live.*text\/event-stream/);
    }
    expect(door.calls()).toBe(0);
  });
});

describe('A sender who waits for 100 Continue', () => {
  it.each(['/livez', '/metrics', '/nothing', '/graphql', '/files/a.txt'])(
    'has a final answer from %s without one byte of its body',
    async (path) => {
      const expecting = 'Content-Length: 5\r\nExpect: 100-continue\r\n';
      const socket = await open();
      socket.write(post(`${expecting}${LAST}`).replace('/graphql', path));
      let answer = '';
      socket.on('data', (piece) => {
        answer += piece;
      });
      await until(() => /HTTP\/1\.1 [2-5]/.test(answer));
      socket.destroy();
    },
  );
});

describe('A connection', () => {
  it('answers a thousand requests that are sent at once, in their order', async () => {
    const one = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n';
    const ids = Array.from({ length: 1000 }, (_, n) => `n${n}`);
    const requests = ids.map((id) => `${one}X-Request-Id: ${id}\r\n\r\n`).join('');
    const answer = await exchange(`${requests}${one}X-Request-Id: last\r\n${LAST}\r\n`);
    const answered = [...answer.matchAll(/X-Request-Id: (\w+)/g)].map(([, id]) => id);
    expect(answered).toEqual([...ids, 'last']);
  });

  it('of HTTP/1.0 is closed with its answer', async () => {
    expect(await exchange('GET /livez HTTP/1.0\r\n\r\n')).toMatch(/ 200 OK\r\n[^]*ok\n$/);
  });

  it('that its client has half closed is closed by the gateway too', async () => {
    const socket = await open();
    socket.resume().end(post(`${KEYED}Content-Length: 1000\r\n`));
    await once(socket, 'close');
  });
});

describe('A body that is too large', () => {
  it.each([
    ['announced', 'Content-Length: 20000000\r\n', 'x'.repeat(100_000)],
    [
      'not announced',
      'Transfer-Encoding: chunked\r\n',
      `1E8480\r\n${'x'.repeat(2_000_000)}\r\n0\r\n\r\n`,
    ],
  ])('is refused with 413 that a page of a listed origin can read: %s', async (_, length, body) => {
    const exchanged = exchange(post(`${KEYED}${ORIGIN}${length}`) + body);
    const answer = await asTimePasses(door.clock, exchanged);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(new RegExp(`access-control-allow-origin: ${origin}`, 'i'));
    expect(answer).toMatch(
      /access-control-expose-headers: X-Request-Id, Age, ETag, Retry-After, Preference-Applied/i,
    );
    expect(answer).toMatch(/x-request-id: /i);
  });

  it('begins one byte above a megabyte, also where no length is announced', async () => {
    const send = (bytes: number) => {
      const head = post(`${KEYED}${LAST}Transfer-Encoding: chunked\r\n`);
      const body = '{"query":"{__typename}"}'.padEnd(bytes);
      const exchanged = exchange(`${head}${bytes.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
      return asTimePasses(door.clock, exchanged);
    };
    expect(await send(2 ** 20)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await send(2 ** 20 + 1)).toMatch(/^HTTP\/1\.1 413 /);
  });
});
