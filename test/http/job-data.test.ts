import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unauthenticated } from '../../src/auth/refusal.ts';
import type { Viewer } from '../../src/auth/viewer.ts';
import { type JobDownload, jobDataRoute } from '../../src/files/job-data.ts';
import { createMaskError } from '../../src/graphql/mask-error.ts';
import { Door } from '../../src/http/door/admission.ts';
import { createHostGuard } from '../../src/http/door/host-guard.ts';
import { Origins } from '../../src/http/door/origins.ts';
import { Codings } from '../../src/http/encoding/codings.ts';
import { encodeResponse } from '../../src/http/encoding/encode-response.ts';
import { Drain } from '../../src/http/socket/drain.ts';
import { newRecord } from '../../src/jobs/job.ts';
import { type StoredJob, StoredJobs } from '../../src/jobs/stored-jobs.ts';
import { newStore } from '../../src/store/open-store.ts';
import { askRaw } from '../support/raw-reply.ts';
import { rounds } from '../support/rounds.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const ORIGIN = 'https://app.example';

let clock: VirtualClock;
let server: Server;
let port = 0;
/** By id; each belongs to `ann`. */
let jobs: Map<string, JobDownload>;
/** Downloads that read an output of `largeJob`. */
let reading = 0;
let defects: unknown[];
let sockets: Socket[];

beforeEach(async () => {
  clock = new VirtualClock();
  jobs = new Map();
  defects = [];
  sockets = [];
  server = serverOf();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  // No response leaves its output, however it ended.
  await until(() => reading === 0);
});

/** The route behind the door, the encoder and the guard of the gateway. */
function serverOf(): Server {
  const codings = new Codings();
  const routes = jobDataRoute({
    clock,
    codings,
    find: ({ name }, id) => (name === 'stranger' ? null : (jobs.get(id) ?? null)),
    maskError: createMaskError((error) => defects.push(error)),
  });
  const door = new Door({
    origins: new Origins([ORIGIN], { loopback: false, onRefused: () => {} }),
    authenticate: ({ authorization }) => {
      const name = /^Bearer (.+)$/.exec(authorization ?? '')?.[1];
      if (name === undefined) throw unauthenticated('A token is needed.', false);
      return { name, role: 'viewer' } satisfies Viewer;
    },
    hostGuard: createHostGuard('127.0.0.1', []),
  });
  const made = createServer((asked, response) => {
    drain.watch(response);
    encodeResponse(response, codings.for(asked));
    routes['/jobs/']?.answer(asked, response, door.admit(asked, false));
  });
  const drain = new Drain(made, { clock, graceMs: 1000 });
  return made;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  readonly code: string | undefined;
}

/** Asks on a connection of its own, without a library that unpacks. */
async function ask(
  headers: Record<string, string> = {},
  path = '/jobs/a-1/data',
  method = 'GET',
): Promise<Answer> {
  const all = { authorization: 'Bearer ann', ...headers };
  const raw = await askRaw(`http://127.0.0.1:${port}`, { path, method, headers: all });
  const { bytes: body, headers: told, status, text } = raw;
  const isError = /json;/.test(told['content-type'] ?? '') && body.length > 0;
  const code = isError ? JSON.parse(text).errors[0].extensions.code : undefined;
  return { status, headers: told as Answer['headers'], body, code };
}

async function job(lines: string, more: Partial<JobDownload> = {}): Promise<StoredJob> {
  const complain = (sentence: string): void => void defects.push(sentence);
  const stored = await StoredJobs.load(newStore(clock), { complain, maxBytes: 2 ** 30 });
  const record = newRecord({
    id: 'a-1',
    owner: { name: 'ann', role: 'viewer' },
    key: null,
    maxPerMinute: null,
    name: 'channels',
    startAt: 0,
    format: 'JSONL',
    isCheap: true,
    text: '',
    variables: {},
    upstream: 'LINKS',
    wall: 0,
  });
  const output = await stored.create(record);
  await add(output, lines);
  jobs.set('a-1', { output, name: 'channels', format: 'JSONL', isComplete: true, ...more });
  return output;
}

async function add(output: StoredJob, lines: string): Promise<void> {
  await output.save(output.record, { lines, seen: [] });
}

/** A job with an output of this size, which is not in memory. */
function largeJob(bytes: number, content: Buffer = Buffer.alloc(64 * 1024)): void {
  const output: JobDownload['output'] = {
    id: 'a-1',
    outputBytes: bytes,
    async *pieces(start, end) {
      reading += 1;
      try {
        for (let at = start; at < end; ) {
          const piece = content.subarray(0, end - at);
          at += piece.length;
          await setImmediate();
          yield Buffer.from(piece);
        }
      } finally {
        reading -= 1;
      }
    },
  };
  jobs.set('a-1', { output, name: 'channels', format: 'JSONL', isComplete: true });
}

/** Sends a request on a connection that never reads. */
async function askUnread(headers: Record<string, string> = {}): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  const all = { host: 'localhost', authorization: 'Bearer ann', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET /jobs/a-1/data HTTP/1.1\r\n${lines.join('')}\r\n`);
  return socket;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setTimeout(1);
}

const manyLines = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => `${JSON.stringify({ id: index, text: 'ä'.repeat(index % 30) })}\n`,
  ).join('');

describe('a download', () => {
  it('is the whole output, line by line', async () => {
    const lines = manyLines(20_000);
    await job(lines);
    const { body, headers, status } = await ask();
    expect(status).toBe(200);
    expect(body.toString() === lines).toBe(true);
    expect(body.toString().split('\n')).toHaveLength(20_001);
    expect(headers).toMatchObject({
      'content-type': 'application/jsonl',
      'content-length': String(Buffer.byteLength(lines)),
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache, no-transform',
      'content-disposition': 'attachment; filename="channels.jsonl"',
      etag: expect.stringMatching(/^"a-1-[^"]+"$/),
      vary: expect.stringContaining('Accept-Encoding'),
    });
  });

  it('of a table is CSV with a header', async () => {
    await job('id\r\n1\r\n', { format: 'CSV' });
    const { body, headers } = await ask();
    expect(body.toString()).toBe('id\r\n1\r\n');
    expect(headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    expect(headers['content-disposition']).toBe('attachment; filename="channels.csv"');
  });

  it('while the job runs has another name', async () => {
    await job('1\n2\n', { isComplete: false });
    const { body, headers } = await ask();
    expect(body.toString()).toBe('1\n2\n');
    expect(headers['content-disposition']).toBe('attachment; filename="channels.partial.jsonl"');
  });

  it('of no lines is empty', async () => {
    await job('');
    for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
      const { body, headers: sent, status } = await ask(headers);
      expect([status, body.length, sent['content-length']]).toEqual([200, 0, '0']);
    }
    for (const range of ['bytes=0-', 'bytes=0-0', 'bytes=-1']) {
      const part = await ask({ range });
      expect([part.status, part.headers['content-range']]).toEqual([416, 'bytes */0']);
    }
  });

  it('has the same headers for HEAD, and no body', async () => {
    await job(manyLines(1000));
    for (const headers of [{}, { 'accept-encoding': 'gzip' }, { 'accept-encoding': 'br' }]) {
      const get = await ask(headers);
      const head = await ask({ ...headers, range: 'bytes=0-1' }, '/jobs/a-1/data', 'HEAD');
      expect([head.status, head.body.length]).toEqual([200, 0]);
      const its = { date: '', connection: '', 'transfer-encoding': '' };
      expect({ ...head.headers, ...its }).toEqual({ ...get.headers, ...its });
    }
  });
});

describe('a part', () => {
  it('is that part of the whole', async () => {
    const whole = Buffer.from(manyLines(5000));
    await job(whole.toString());
    const size = whole.length;
    const anyOffset = fc.oneof(fc.nat(size - 1), fc.constantFrom(0, 65_535, 65_536, size - 1));
    const anyRange = fc.oneof(
      fc.tuple(anyOffset, anyOffset).map(([one, other]) => {
        const [first, last] = [Math.min(one, other), Math.max(one, other)];
        return { range: `bytes=${first}-${last}`, first, last };
      }),
      fc
        .tuple(anyOffset, fc.constantFrom('', size + 1000, '9'.repeat(20)))
        .map(([first, to]) => ({ range: `BYTES= ${first}-${to} `, first, last: size - 1 })),
      fc.integer({ min: 1, max: 2 * size }).map((length) => {
        return { range: `bytes=-${length}`, first: Math.max(0, size - length), last: size - 1 };
      }),
    );
    await fc.assert(
      fc.asyncProperty(anyRange, async ({ first, last, range }) => {
        const { body, headers, status } = await ask({ range, 'accept-encoding': 'gzip, br' });
        expect(status).toBe(206);
        expect(headers['content-range']).toBe(`bytes ${first}-${last}/${size}`);
        expect(headers['content-length']).toBe(String(last - first + 1));
        expect(headers['content-encoding']).toBeUndefined();
        expect(body.equals(whole.subarray(first, last + 1))).toBe(true);
      }),
      { numRuns: rounds(100) },
    );
  });

  it('behind the end is refused with the size', async () => {
    await job('12345\n');
    for (const range of ['bytes=6-', 'bytes=100-200', 'bytes=-0', `bytes=${'9'.repeat(20)}-`]) {
      const { code, headers, status } = await ask({ range });
      expect([status, headers['content-range'], code]).toEqual([
        416,
        'bytes */6',
        'BAD_USER_INPUT',
      ]);
      expect(headers['content-disposition']).toBeUndefined();
    }
  });

  it('that is not one valid range is the whole', async () => {
    await job('12345\n');
    const odd =
      '|bytes=|bytes=-|bytes=4-2|bytes=0-1,3-4|bytes=a-b|bytes=1.5-2|bytes=+1-2|bytes=0-1-2';
    for (const range of [...odd.split('|'), 'lines=0-1', 'bytes 0-1', 'bytes=x']) {
      const { body, headers, status } = await ask({ range, 'accept-encoding': 'gzip' });
      expect([status, body.toString()]).toEqual([200, '12345\n']);
      expect(headers['content-range']).toBeUndefined();
    }
  });

  it('is of the file that was begun, otherwise the whole is sent', async () => {
    const output = await job('12345\n');
    const { headers } = await ask();
    const partOf = async (ifRange: string) =>
      (await ask({ range: 'bytes=2-3', 'if-range': ifRange })).status;
    const etag = headers['etag'] ?? '';
    expect(await partOf(etag)).toBe(206);
    expect(await partOf(`W/${etag}`)).toBe(200);
    expect(await partOf('"other"')).toBe(200);
    expect(await partOf('Tue, 01 Jan 2030 00:00:00 GMT')).toBe(200);
    expect(await partOf('2030')).toBe(200);
    await add(output, '6\n');
    expect(await partOf(etag)).toBe(200);
    // Behind the end of what was, but not of what is.
    const { status } = await ask({ range: 'bytes=6-', 'if-range': etag });
    expect(status).toBe(200);
    expect((await ask({ range: 'bytes=6-' })).body.toString()).toBe('6\n');
  });
});

describe('the tag', () => {
  it('changes with the output, and with nothing else', async () => {
    const output = await job('1\n');
    const tag = async (headers = {}) => (await ask(headers)).headers['etag'];
    const first = await tag();
    await clock.advance(5000);
    expect(await tag()).toBe(first);
    await add(output, '2\n');
    const second = await tag();
    expect(second).not.toBe(first);
    await output.save({ ...output.record, state: 'DONE' });
    expect(await tag()).toBe(second);
    expect(await tag({ range: 'bytes=0-0' })).toBe(second);
  });

  it('that a client has makes a 304', async () => {
    const output = await job(manyLines(100));
    for (const coding of ['identity', 'gzip']) {
      const headers = { 'accept-encoding': coding };
      const etag = (await ask(headers)).headers['etag'] ?? '';
      for (const condition of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
        const {
          body,
          headers: sent,
          status,
        } = await ask({ ...headers, 'if-none-match': condition });
        expect([status, body.length, sent['etag']]).toEqual([304, 0, etag]);
        expect(sent['content-length']).toBeUndefined();
        expect(sent['vary']).toContain('Accept-Encoding');
      }
      const { status } = await ask({ ...headers, 'if-none-match': '"x"' });
      expect(status).toBe(200);
    }
    const etag = (await ask()).headers['etag'] ?? '';
    await add(output, '1\n');
    expect((await ask({ 'if-none-match': etag })).status).toBe(200);
  });

  it('of another state makes a 412 where it is required', async () => {
    await job('1\n');
    const { headers } = await ask();
    expect((await ask({ 'if-match': headers['etag'] ?? '' })).status).toBe(200);
    expect((await ask({ 'if-match': '*' })).status).toBe(200);
    expect((await ask({ 'if-match': '"other"' })).status).toBe(412);
  });
});

describe('compression', () => {
  it('is of the same bytes, under another tag', async () => {
    const lines = manyLines(20_000);
    await job(lines);
    const plain = await ask();
    const packed = await ask({ 'accept-encoding': 'gzip, br' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.headers['content-length']).toBeUndefined();
    expect(packed.body.length).toBeLessThan(plain.body.length / 4);
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
    expect(packed.headers['etag']).not.toBe(plain.headers['etag']);
    const etag = packed.headers['etag'] ?? '';
    const part = await ask({ range: 'bytes=0-1', 'if-range': etag, 'accept-encoding': 'gzip' });
    expect([part.status, part.headers['content-encoding']]).toEqual([200, undefined]);
  });

  it('is by no other coding, which would have the tag of the plain bytes', async () => {
    await job(manyLines(100));
    const plain = await ask();
    const { body, headers } = await ask({ 'accept-encoding': 'br' });
    expect([headers['content-encoding'], headers['etag']]).toEqual([
      undefined,
      plain.headers['etag'],
    ]);
    expect(body.equals(plain.body)).toBe(true);
  });
});

describe('who may not download', () => {
  it('is told that there is no such job, as for one that is unknown or expired', async () => {
    const output = await job('1\n');
    const stranger = await ask({ authorization: 'Bearer stranger' });
    const unknown = await ask({}, '/jobs/a-2/data');
    await output.discardOutput(output.record);
    const expired = await ask();
    for (const { body, code, status } of [stranger, unknown, expired]) {
      expect([status, code]).toEqual([404, 'NOT_FOUND']);
      expect(body.toString()).toBe(stranger.body.toString());
    }
  });

  it('without a credential is asked for one', async () => {
    await job('1\n');
    const { code, headers, status } = await ask({ authorization: '' });
    expect([status, code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(headers['www-authenticate']).toBeDefined();
    expect((await ask({ authorization: '' }, '/jobs/a-2/data')).status).toBe(401);
  });

  it('is a page of another origin', async () => {
    await job('1\n');
    const { code, status } = await ask({ 'sec-fetch-site': 'cross-site' });
    expect([status, code]).toEqual([403, 'FORBIDDEN']);
    expect((await ask({ 'sec-fetch-site': 'cross-site', origin: ORIGIN })).status).toBe(200);
    expect((await ask({ 'sec-fetch-site': 'none' })).status).toBe(200);
  });

  it.each([
    '/jobs/',
    '/jobs/a-1',
    '/jobs/a-1/data/',
    '/jobs/a-1/other',
    '/jobs/A/data',
    '/jobs/../data',
    '/jobs/%61-1/data',
  ])('finds nothing at %s', async (path) => {
    await job('1\n');
    expect(await ask({}, path)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it('finds a job also behind a query', async () => {
    await job('1\n');
    expect((await ask({}, '/jobs/a-1/data?x=1')).status).toBe(200);
  });
});

describe('other methods', () => {
  it.each(['POST', 'PUT', 'DELETE', 'PATCH'])('such as %s are refused', async (method) => {
    await job('1\n');
    const { code, headers, status } = await ask({}, '/jobs/a-1/data', method);
    expect([status, headers['allow'], code]).toEqual([405, 'GET, HEAD, OPTIONS', 'BAD_USER_INPUT']);
  });

  it('OPTIONS answers the preflight of a listed page', async () => {
    const preflight = { origin: ORIGIN, 'access-control-request-headers': 'authorization,range' };
    const { headers, status } = await ask(preflight, '/jobs/a-1/data', 'OPTIONS');
    expect([status, headers['allow']]).toEqual([204, 'GET, HEAD, OPTIONS']);
    expect(headers['access-control-allow-methods']).toBe('GET, HEAD');
    expect(headers['access-control-allow-headers']).toBe('authorization,range');
  });
});

describe('a reader that does not read', () => {
  const SIZE = 64 * 2 ** 20;

  it.each(['identity', 'gzip'])('of %s holds little memory, and is cut', async (coding) => {
    // Not compressible, so that it does not fit into the buffers of the system.
    largeJob(SIZE, coding === 'gzip' ? randomBytes(64 * 1024) : undefined);
    const before = process.memoryUsage().arrayBuffers;
    const socket = await askUnread({ 'accept-encoding': coding });
    await until(() => reading === 1);
    await setTimeout(300);
    expect(reading).toBe(1);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 2 ** 20);
    // A busy machine fills the buffers of the system later.
    // oxlint-disable-next-line no-unmodified-loop-condition
    while (reading > 0) {
      await clock.advance(60_000);
      await setTimeout(10);
    }
    socket.resume();
    await once(socket, 'close');
    expect(socket.bytesRead).toBeLessThan(SIZE);
    expect(defects).toEqual([]);
  });

  it.each(['identity', 'gzip'])('of %s and leaves gives everything back', async (coding) => {
    largeJob(SIZE, coding === 'gzip' ? randomBytes(64 * 1024) : undefined);
    for (let round = 0; round < 3; round += 1) {
      const all = await Promise.all(
        Array.from({ length: 4 }, () => askUnread({ 'accept-encoding': coding })),
      );
      await until(() => reading === 4);
      for (const socket of all) socket.destroy();
      await until(() => reading === 0);
    }
    expect(defects).toEqual([]);
  });

  it('has a limit, which is not one of others', async () => {
    largeJob(SIZE);
    for (let count = 0; count < 4; count += 1) await askUnread();
    await until(() => reading === 4);
    const refused = await ask();
    expect([refused.status, refused.code]).toEqual([429, 'TOO_MANY_STREAMS']);
    expect(refused.headers['retry-after']).toBe('5');
    expect(refused.headers['etag']).toBeUndefined();
    expect((await ask({ authorization: 'Bearer bob', range: 'bytes=0-1' })).status).toBe(206);
    // They need no place.
    expect((await ask({}, '/jobs/a-1/data', 'HEAD')).status).toBe(200);
    sockets[0]?.destroy();
    await until(() => reading === 3);
    expect((await ask({ range: 'bytes=0-1' })).status).toBe(206);
  });

  it('is one of 32 at most', async () => {
    largeJob(SIZE);
    for (let count = 0; count < 32; count += 1) {
      await askUnread({ authorization: `Bearer b${count % 16}` });
    }
    await until(() => reading === 32);
    const refused = await ask();
    expect([refused.status, refused.code]).toEqual([503, 'TOO_MANY_STREAMS']);
    expect(refused.headers['retry-after']).toBe('5');
    sockets[0]?.destroy();
    await until(() => reading === 31);
    expect((await ask({ range: 'bytes=0-1' })).status).toBe(206);
  });
});

describe('a large output', () => {
  it.each(['identity', 'gzip'])('as %s is sent in little memory', async (coding) => {
    const SIZE = 200 * 2 ** 20;
    largeJob(SIZE);
    // A process of its own, whose memory is not counted.
    const reader = `require('http').get({ port: ${port}, path: '/jobs/a-1/data', headers: { authorization: 'Bearer ann', 'accept-encoding': '${coding}' } }, async (response) => {
      const body = '${coding}' === 'gzip' ? response.pipe(require('zlib').createGunzip()) : response;
      let bytes = 0;
      for await (const piece of body) bytes += piece.length;
      console.log(bytes);
    })`;
    const before = process.memoryUsage().arrayBuffers;
    // Less than before if older buffers are collected meanwhile.
    let most = Number.NEGATIVE_INFINITY;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }, 1);
    const child = spawn(process.execPath, ['-e', reader], { stdio: ['ignore', 'pipe', 'inherit'] });
    const read = (await buffer(child.stdout)).toString();
    clearInterval(timer);
    expect(read.trim()).toBe(String(SIZE));
    expect(most).toBeGreaterThan(Number.NEGATIVE_INFINITY);
    expect(most).toBeLessThan(16 * 2 ** 20);
    expect(reading).toBe(0);
  });
});

describe('an output that cannot be read', () => {
  const failing = (pieces: number): void => {
    const output: JobDownload['output'] = {
      id: 'a-1',
      outputBytes: 2 ** 20,
      async *pieces() {
        for (let count = 0; count < pieces; count += 1) yield randomBytes(64 * 1024);
        await setTimeout(0);
        throw new Error('the store is away');
      },
    };
    jobs.set('a-1', { output, name: 'channels', format: 'JSONL', isComplete: true });
  };

  it('before the first byte is an internal error', async () => {
    failing(0);
    const { code, headers, status } = await ask();
    expect([status, code]).toEqual([500, 'INTERNAL_SERVER_ERROR']);
    expect(headers['etag']).toBeUndefined();
    expect(String(defects)).toContain('the store is away');
  });

  it.each(['identity', 'gzip'])(
    'after it ends the connection of %s, so that no part is taken for the whole',
    async (coding) => {
      failing(3);
      await expect(ask({ 'accept-encoding': coding })).rejects.toThrow(
        /aborted|hang up|ECONNRESET/,
      );
      await until(() => String(defects).includes('the store is away'));
    },
  );

  it('because it expires meanwhile ends the connection, and is no defect', async () => {
    const lines = manyLines(20_000).repeat(20);
    const output = await job(lines);
    const socket = await askUnread();
    await setTimeout(50);
    await output.discardOutput(output.record);
    socket.resume();
    await once(socket, 'close');
    expect(socket.bytesRead).toBeLessThan(lines.length);
    expect(defects).toEqual([]);
    expect(await ask()).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });
});
