import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import type { Role } from '../../src/auth/viewer.ts';
import { type Door, openDoor, type Reply } from '../support/door.ts';
import { known, tempFolder } from '../support/folder.ts';

const CAMPAIGNS = '{ campaigns(first: 2) { nodes { name } } account { username } }';
const TTL_MS = 60_000;

/** What the receipt of an answer says. */
function receiptOf({ text }: Reply) {
  return JSON.parse(text).extensions.upstream as { calls: number; maxAgeMs: number; stale: number };
}

describe('An operation that is asked again', () => {
  const folder = tempFolder();
  const file = join(folder, 'tokens.json');
  let door: Door;

  const allow = (tokens: Readonly<Record<string, Role>>): void => {
    const all = Object.entries(tokens).map(([name, role]) => known({ name, role }));
    writeFileSync(file, formatTokenFile(all));
  };
  const remembered = async (): Promise<number> => {
    const { text } = await door.send('/metrics');
    return Number(/^gateway_remembered_answers_total (\d+)/m.exec(text)?.[1]);
  };
  /** Asks until an answer would be given from memory, if it ever is. */
  const teach = async (query: string, token: string): Promise<void> => {
    for (let n = 0; n < 3; n += 1) await door.ask(query, token);
  };

  beforeEach(async () => {
    allow({ viewer: 'viewer', admin: 'admin' });
    door = await openDoor({
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: file,
      CORS_ORIGINS: 'https://app.example',
    });
  });
  afterEach(() => {
    rmSync(file, { force: true });
  });

  it('is answered from memory the third time, with what is true of this answer', async () => {
    const replies: Reply[] = [];
    for (let n = 0; n < 4; n += 1) {
      await door.clock.advance(100);
      replies.push(await door.ask(CAMPAIGNS, 'viewer'));
    }
    expect(await remembered()).toBe(2);
    const [first, second, third, fourth] = replies as [Reply, Reply, Reply, Reply];
    expect(fourth.data).toEqual(first.data);
    expect(receiptOf(second)).toMatchObject({ calls: 0, maxAgeMs: 100 });
    expect(receiptOf(third)).toMatchObject({ calls: 0, maxAgeMs: 200 });
    expect(receiptOf(fourth)).toEqual({ ...receiptOf(third), maxAgeMs: 300 });
    const ids = replies.map(({ headers }) => headers.get('x-request-id'));
    expect(new Set(ids).size).toBe(4);
    const names = (reply: Reply) => [...reply.headers.keys()].toSorted();
    expect(names(fourth)).toEqual(names(second));
    for (const [name, value] of second.headers) {
      if (!['x-request-id', 'date'].includes(name)) expect(fourth.headers.get(name)).toBe(value);
    }
  });

  it('does not age where nothing was read for it', async () => {
    const ages: number[] = [];
    for (let n = 0; n < 4; n += 1) {
      ages.push(receiptOf(await door.ask('{ __typename }', 'viewer')).maxAgeMs);
      await door.clock.advance(300);
    }
    expect(await remembered()).toBeGreaterThan(0);
    expect(ages).toEqual([0, 0, 0, 0]);
  });

  it('is answered from memory by GET as well, with its tag or without a body', async () => {
    const address = `/graphql?query=${encodeURIComponent(CAMPAIGNS)}`;
    const get = (more = {}) =>
      door.send(address, {
        headers: { authorization: 'Bearer viewer', accept: 'application/json', ...more },
      });
    await get();
    const second = await get();
    await door.clock.advance(900);
    const third = await get();
    expect(await remembered()).toBe(1);
    expect(third.data).toEqual(second.data);
    const etag = second.headers.get('etag') ?? '';
    for (const [name, value] of second.headers) {
      if (!['x-request-id', 'date', 'content-length'].includes(name))
        expect(third.headers.get(name)).toBe(value);
    }
    const known = await get({ 'if-none-match': etag });
    expect(known.status).toBe(304);
    expect(known.text).toBe('');
    expect(known.headers.get('etag')).toBe(etag);
    expect(await remembered()).toBe(2);
    await door.clock.advance(200);
    // Remembered again by a caller that has it already.
    await get({ 'if-none-match': etag });
    expect((await get()).headers.get('age')).toBe('1');
    expect(await remembered()).toBe(3);
  });

  it('counts like any other', async () => {
    await teach(CAMPAIGNS, 'viewer');
    await door.ask(CAMPAIGNS, 'viewer');
    const { text } = await door.send('/metrics');
    expect(text).toContain('gateway_operations_total{type="query",outcome="ok"} 4');
    expect(text).toContain('resource="campaigns",result="hit"} 3');
    const lines = door
      .log()
      .split('\n')
      .filter((line) => line.includes('"msg":"operation"'));
    expect(lines).toHaveLength(4);
    const [, whole, , short] = lines.map((line) => JSON.parse(line) as object);
    expect(short).toEqual({
      ...whole,
      requestId: expect.any(String),
      time: expect.any(String),
      durationMs: expect.any(Number),
    });
    expect(Object.keys(short ?? {})).toEqual(Object.keys(whole ?? {}));
  });

  it('counts beside others, and after it was looked at', async () => {
    const CHANNELS = '{ channels(first: 1) { nodes { name } } }';
    await teach(CAMPAIGNS, 'viewer');
    await teach(CHANNELS, 'viewer');
    for (const query of [CAMPAIGNS, CHANNELS, CAMPAIGNS, CAMPAIGNS, CHANNELS]) {
      await door.ask(query, 'viewer');
    }
    expect(await remembered()).toBe(6);
    await door.ask(CHANNELS, 'viewer');
    await door.ask(CAMPAIGNS, 'viewer');
    const { text } = await door.send('/metrics');
    expect(text).toContain('resource="campaigns",result="hit"} 6');
    expect(text).toContain('resource="channels",result="hit"} 5');
    expect(text).toContain('gateway_operations_total{type="query",outcome="ok"} 13');
  });

  it('is refreshed as often as without being remembered', async () => {
    let oldest = 0;
    for (let ms = 0; ms < 2.5 * TTL_MS; ms += 500) {
      await door.clock.advance(500);
      oldest = Math.max(oldest, receiptOf(await door.ask(CAMPAIGNS, 'viewer')).maxAgeMs);
    }
    expect(await remembered()).toBeGreaterThan(100);
    expect(oldest).toBeLessThan(TTL_MS);
  });

  it('is remembered however often one entry serves it', async () => {
    await door.close();
    // Five kilobytes of it are for one answer.
    door = await openDoor({
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: file,
      CACHE_MAX_BYTES: String(640 * 1024),
    });
    const fields = Array.from({ length: 40 }, (_, n) => `a${n}: account { username }`);
    await teach(`{ ${fields.join(' ')} }`, 'viewer');
    const before = await remembered();
    await door.ask(`{ ${fields.join(' ')} }`, 'viewer');
    expect(await remembered()).toBe(before + 1);
  });

  it('is refused as plain text, which a page of any origin can send', async () => {
    const query = '{ account { username } }';
    await teach(query, 'admin');
    const { code, status } = await door.send('/graphql', {
      method: 'POST',
      headers: {
        authorization: 'Bearer admin',
        accept: 'application/graphql-response+json',
        'content-type': 'text/plain',
      },
      body: JSON.stringify({ query }),
    });
    expect([status, code]).toEqual([403, 'FORBIDDEN']);
  });

  it.each([
    ['tells of the moment', '{ rateLimit { remaining } account { username } }'],
    ['has an error in it', '{ account { username } channels(first: 600) { totalCount } }'],
    ['is refused', '{ nothing }'],
  ])('is created again when it %s', async (_, query) => {
    await teach(query, 'admin');
    await door.ask(query, 'admin');
    expect(await remembered()).toBe(0);
  });

  it('is created again when it is delivered in parts', async () => {
    const headers = { accept: 'multipart/mixed; deferSpec=20220824' };
    for (let n = 0; n < 4; n += 1) {
      const { text } = await door.ask('{ account { username ... @defer { email } } }', 'admin', {
        headers,
      });
      expect(text).toContain('"hasNext":false');
    }
    expect(await remembered()).toBe(0);
  });

  it.each([
    ['application/json', true],
    ['application/graphql-response+json', true],
    ['*/*', true],
    ['text/event-stream', false],
    ['multipart/mixed', false],
    ['text/event-stream, multipart/mixed', false],
  ])('has the form that %s asks for', async (accept, isRemembered) => {
    const forms: unknown[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { headers, text } = await door.ask(CAMPAIGNS, 'viewer', { headers: { accept } });
      forms.push([headers.get('content-type'), text.replace(/"upstream":\{.*?\}\}?/, '')]);
    }
    expect(new Set(forms.map((form) => JSON.stringify(form))).size).toBe(1);
    expect((await remembered()) > 0).toBe(isRemembered);
  });

  it('is distinguished from others by each of its headers', async () => {
    const odd = {
      accept: 'application/json,',
      'content-type': 'application/json; charset=utf-8 application/json',
    };
    for (let n = 0; n < 3; n += 1) await door.ask(CAMPAIGNS, 'viewer', { headers: odd });
    const before = await remembered();
    const accept = 'application/json, application/json; charset=utf-8';
    await door.ask(CAMPAIGNS, 'viewer', { headers: { accept } });
    expect(await remembered()).toBe(before);
  });

  it('is created again while it is stale', async () => {
    await door.ask(CAMPAIGNS, 'viewer');
    door.sandbox.links.fault({ kind: 'hang' });
    await door.clock.advance(1.5 * TTL_MS);
    for (let n = 0; n < 4; n += 1) {
      expect(receiptOf(await door.ask(CAMPAIGNS, 'viewer')).stale).toBe(2);
    }
    expect(await remembered()).toBe(0);
    await door.clock.advance(60_000);
  });

  it('is created again from the moment at which one of its entries is past its ttl', async () => {
    await door.ask(CAMPAIGNS, 'viewer');
    door.sandbox.links.fault({ kind: 'hang' });
    // Within a second of that moment it is remembered until then, and not for the whole second.
    await door.clock.advance(TTL_MS - 300);
    await teach(CAMPAIGNS, 'viewer');
    expect(receiptOf(await door.ask(CAMPAIGNS, 'viewer')).stale).toBe(0);
    const before = await remembered();
    expect(before).toBeGreaterThan(0);
    await door.clock.advance(300);
    expect(receiptOf(await door.ask(CAMPAIGNS, 'viewer')).stale).toBe(2);
    expect(await remembered()).toBe(before);
    await door.clock.advance(60_000);
  });

  it.each([
    ['Content-Encoding', { 'content-encoding': 'identity' }],
    ['X-Gateway-Dry-Run', { 'x-gateway-dry-run': '1' }],
  ])('goes the whole way with %s', async (_, headers) => {
    await teach(CAMPAIGNS, 'viewer');
    const before = await remembered();
    await door.ask(CAMPAIGNS, 'viewer', { headers });
    expect(await remembered()).toBe(before);
  });

  it.each(['wait=1', 'wait=99, handling=lenient', 'wait=soon', 'return=minimal'])(
    'is given to Prefer: %s, with the wait that was in force',
    async (prefer) => {
      const whole = await door.ask(CAMPAIGNS, 'viewer', {
        headers: { prefer, 'content-encoding': 'identity' },
      });
      await teach(CAMPAIGNS, 'viewer');
      const before = await remembered();
      const answer = await door.ask(CAMPAIGNS, 'viewer', { headers: { prefer } });
      expect(await remembered()).toBe(before + 1);
      const applied = 'preference-applied';
      expect(answer.headers.get(applied)).toBe(whole.headers.get(applied));
      expect(answer.headers.has(applied)).toBe(/wait=\d/.test(prefer));
      expect(answer.data).toEqual(whole.data);
    },
  );

  it('is answered whatever the pieces in which it arrives', async () => {
    await teach(CAMPAIGNS, 'viewer');
    const body = JSON.stringify({ query: CAMPAIGNS });
    const head = `POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer viewer\r\ncontent-type: application/json\r\naccept: application/graphql-response+json\r\ncontent-length: ${body.length}\r\n`;
    const { port } = new URL(door.url);
    const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8');
    let text = '';
    socket.on('data', (piece: string) => {
      text += piece;
    });
    const answers = async (count: number): Promise<void> => {
      while (text.split('"data"').length <= count) await once(socket, 'data');
    };
    socket.write(`${head}\r\n${body}`);
    await answers(1);
    // Two at once, without waiting for the first.
    socket.write(`${head}\r\n${body}${head}\r\n${body}`);
    await answers(3);
    socket.write(`${head}\r\n${body.slice(0, 10)}`);
    await door.clock.settle();
    socket.write(body.slice(10));
    await answers(4);
    socket.write(`${head}\r\n`);
    await door.clock.settle();
    socket.write(`${body}${head}connection: close\r\n\r\n${body}`);
    await once(socket, 'close');
    expect(text.split('HTTP/1.1 200 OK')).toHaveLength(7);
    expect(text.split('"username"')).toHaveLength(7);
  });

  it('is rejected for an invalid header, although its body is known', async () => {
    await teach(CAMPAIGNS, 'viewer');
    const body = JSON.stringify({ query: CAMPAIGNS });
    const ask = async (host: string): Promise<string> => {
      const socket = connect(Number(new URL(door.url).port), '127.0.0.1').setEncoding('utf8');
      socket.write(
        `POST /graphql HTTP/1.1\r\n${host}authorization: Bearer viewer\r\ncontent-type: application/json\r\naccept: application/graphql-response+json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      let text = '';
      for await (const piece of socket) text += String(piece);
      return text.slice(0, 12);
    };
    expect(await ask('host: localhost\r\n')).toBe('HTTP/1.1 200');
    expect(await ask('host: not a host\r\n')).toBe('HTTP/1.1 403');
    expect(await ask('host: localhost\r\nhost: localhost\r\n')).toBe('HTTP/1.1 400');
    expect(await ask('host: elsewhere.example\r\n')).toBe('HTTP/1.1 403');
  });

  it('is still bounded in time when its body never comes', async () => {
    const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
    socket.write(
      'POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer viewer\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{',
    );
    socket.on('error', () => {}).resume();
    await door.clock.settle();
    await door.clock.advance(61_000);
    if (!socket.closed) await once(socket, 'close');
    expect(socket.closed).toBe(true);
  });
});
