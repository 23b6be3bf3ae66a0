import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Agent } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { sendOverWire, type WireRequest } from '../../../src/upstream/wire/send.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A listener on a real socket that does with each connection, once a request is there, what it is told. */
async function listen(onRequest: (socket: Socket, request: string) => void) {
  const log: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      log.push(bytes.toString());
      onRequest(socket, bytes.toString());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const dispatcher = new Agent({ maxResponseSize: 1000 });
  closing.push(async () => {
    await dispatcher.destroy();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const clock = new VirtualClock();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = (options: Partial<WireRequest> = {}) =>
    sendOverWire(
      { dispatcher, clock },
      {
        method: 'GET',
        url,
        headers: { 'x-one': '1' },
        body: null,
        stream: null,
        timeoutMs: 1000,
        ...options,
      },
    );
  /** Waits for the nth request by the events of the sockets. */
  const arrival = async (nth: number): Promise<void> => {
    while (log.length < nth) await clock.settle();
  };
  return { clock, log, send, arrival, url, server };
}

const answer = (text: string, head = '200 OK', headers = '') =>
  `HTTP/1.1 ${head}\r\ncontent-length: ${text.length}\r\n${headers}\r\n${text}`;

describe('sendOverWire', () => {
  test('sends what it is given, and brings what comes back', async () => {
    const { send, log } = await listen((socket) => {
      socket.write(answer('teapot', '418 No', 'X-Two: 2\r\n'));
    });
    const raw = await send({ method: 'POST', body: '{"a":1}' });
    expect(raw).toMatchObject({ status: 418, text: 'teapot', headers: { 'x-two': '2' } });
    expect(log.join('')).toMatch(/^POST \/ HTTP\/1\.1\r\n[^]*x-one: 1\r\n[^]*\{"a":1\}$/);
  });

  test('gives up by the clock, and says that the upstream was slow', async () => {
    const { send, clock, arrival } = await listen(() => {});
    let done = false;
    const sending = send().finally(() => {
      done = true;
    });
    const rejected = expect(sending).rejects.toMatchObject({ name: 'WireError', kind: 'timeout' });
    await arrival(1);
    await clock.advance(999);
    expect(done).toBe(false);
    await clock.advance(1);
    await rejected;
  });

  test('gives up by the clock also in the middle of an answer', async () => {
    const { send, clock, arrival } = await listen((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf');
    });
    const rejected = expect(send()).rejects.toMatchObject({ kind: 'timeout' });
    await arrival(1);
    await clock.advance(1000);
    await rejected;
  });

  test('leaves no timer behind', async () => {
    const { send, clock } = await listen((socket) => socket.write(answer('ok')));
    await send();
    expect(await clock.step()).toBe(false);
  });

  test('knows that a request never left when there is no listener', async () => {
    const { send, server } = await listen(() => {});
    await new Promise((resolve) => {
      server.close(resolve);
    });
    await expect(send()).rejects.toMatchObject({ kind: 'unsent' });
  });

  test('knows that a request never left when the address is none', async () => {
    const { send } = await listen(() => {});
    await expect(send({ url: 'http://no-such-host.invalid' })).rejects.toMatchObject({
      kind: 'unsent',
    });
  });

  test.each([
    ['is reset after the request', (socket: Socket) => socket.resetAndDestroy()],
    ['is closed after the request', (socket: Socket) => socket.end()],
    [
      'breaks in the middle of the answer',
      (socket: Socket) => {
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf');
      },
    ],
    ['answers something that is no HTTP', (socket: Socket) => socket.end('220 ready\r\n')],
  ])('says that an answer is lost when the connection %s', async (_, behave) => {
    const { send, log } = await listen(behave);
    await expect(send({ method: 'POST', body: 'x' })).rejects.toMatchObject({ kind: 'lost' });
    // Nothing is sent a second time, whatever the method.
    await expect(send()).rejects.toMatchObject({ kind: 'lost' });
    expect(log.filter((text) => text.includes('HTTP/1.1'))).toHaveLength(2);
  });

  test.each([301, 302, 303, 307, 308])(
    'hands on a redirect %i, and follows it not',
    async (status) => {
      const { send, log, url } = await listen((socket) => {
        socket.write(answer('', `${status} There`, `location: http://127.0.0.1:1\r\n`));
      });
      expect(await send({ url: `${url}/first` })).toMatchObject({ status });
      expect(log).toHaveLength(1);
    },
  );

  test.each([
    ['that says so', answer('x'.repeat(1001))],
    ['that does not', `HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${'x'.repeat(5000)}`],
  ])('takes no answer larger than allowed, one %s', async (_, text) => {
    const { send } = await listen((socket) => socket.end(text));
    await expect(send()).rejects.toMatchObject({ name: 'WireError', kind: 'lost' });
  });

  test('takes an answer as large as allowed', async () => {
    const { send } = await listen((socket) => socket.end(answer('x'.repeat(1000))));
    expect((await send()).text).toHaveLength(1000);
  });

  test('sends nothing of a stream that fails before its first piece, and says so', async () => {
    const { send, log } = await listen(() => {});
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* await Promise.reject<Uint8Array[]>(new Error('no file'));
    }
    await expect(send({ method: 'POST', stream: failing() })).rejects.toMatchObject({
      kind: 'unsent',
    });
    expect(log).toEqual([]);
  });

  test('cuts a request off whose stream fails after some bytes', async () => {
    const { send, log, arrival } = await listen(() => {});
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('first');
      await arrival(1);
      throw new Error('gone');
    }
    await expect(send({ method: 'POST', stream: failing() })).rejects.toMatchObject({
      kind: 'lost',
    });
    expect(log.join('')).toContain('first');
    // What would end the request in chunks.
    expect(log.join('')).not.toContain('\r\n0\r\n\r\n');
  });

  test('lets a stream take its time, and the upstream none', async () => {
    const { send, clock, arrival } = await listen(() => {});
    let give = (): void => {};
    const slow = new Promise<void>((resolve) => {
      give = resolve;
    });
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('first');
      await slow;
      yield Buffer.from('second');
    }
    let done = false;
    const sending = send({ method: 'POST', stream: pieces() }).finally(() => {
      done = true;
    });
    const rejected = expect(sending).rejects.toMatchObject({ kind: 'timeout' });
    await arrival(1);
    await clock.advance(60_000);
    expect(done).toBe(false);
    give();
    await clock.settle();
    await clock.advance(1000);
    await rejected;
  });
});
