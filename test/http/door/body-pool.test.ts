import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useRequests } from '../../../src/graphql/requests/use-requests.ts';
import { BodyPool } from '../../../src/http/door/body/body-pool.ts';
import { anyDoor } from '../../support/any-door.ts';
import { type Door, openDoor } from '../../support/door.ts';
import { tokenFile } from '../../support/folder.ts';
import { LiveViewer } from '../../support/live-viewer.ts';

const MIB = 1024 * 1024;
/** Half of what all may send together. */
const MOST_OF_ONE = 64;

describe('Who sends much at a time', () => {
  const file = tokenFile({ name: 'one', role: 'viewer' }, { name: 'other', role: 'viewer' });
  const sockets: Socket[] = [];
  let door: Door;

  beforeEach(async () => {
    door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Announces a body that never comes; answers what comes back, once everything has come to rest. */
  async function announce(token: string, count: number): Promise<string[]> {
    const answers: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const socket = connect(Number(new URL(door.url).port), '127.0.0.1').setEncoding('utf8');
      socket.on('error', () => {});
      socket.on('data', (text: string) => answers.push(text));
      socket.write(
        `POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${MIB}\r\n\r\n{`,
      );
      sockets.push(socket);
    }
    for (let turn = 0; turn < 5; turn += 1) await door.clock.settle();
    return answers;
  }

  const askLarge = (token: string) =>
    door.ask(`{ account { username } } #${'x'.repeat(MIB / 2)}`, token);

  it('is refused above its share of the memory, without effect on others', async () => {
    const refused = await announce('one', MOST_OF_ONE + 6);
    while (refused.length < 6) await door.clock.settle();
    for (let turn = 0; turn < 5; turn += 1) await door.clock.settle();
    expect(refused).toHaveLength(6);
    expect(refused[0]).toMatch(/^HTTP\/1.1 503/);
    expect(refused[0]).toMatch(/\r\nretry-after: 1\r\n/i);
    expect(refused[0]).toContain('BUDGET_EXHAUSTED');
    expect((await askLarge('one')).status).toBe(503);
    expect((await door.ask('{ account { username } }', 'one')).errors).toEqual([]);
    // Too many words, but that is found out once it was read.
    expect((await askLarge('other')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    for (let turn = 0; turn < 5; turn += 1) await door.clock.settle();
    expect((await askLarge('one')).status).toBe(200);
    expect(door.calls()).toBe(1);
  });

  /** Sends an operation in a body of unknown length; answers once something has come back, or everything rests. */
  async function sendChunked(token: string, query: string, accept: string): Promise<void> {
    const body = JSON.stringify({ query });
    const socket = connect(Number(new URL(door.url).port), '127.0.0.1').setEncoding('utf8');
    socket.on('error', () => {});
    sockets.push(socket);
    socket.write(
      `POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\naccept: ${accept}\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
  }

  it('gives all of it back when a live query begins', async () => {
    const query = 'query @live { account { username } }';
    for (let n = 0; n < 2 * MOST_OF_ONE + 2; n += 1)
      await sendChunked('one', query, 'text/event-stream;live=age');
    const announced = `${query} #${'x'.repeat(MIB - 200)}`;
    for (let n = 0; n < MOST_OF_ONE + 2; n += 1) {
      const viewer = LiveViewer.open(door.url, { query: announced, token: 'one' });
      await viewer.until(({ revision }) => revision > 0);
    }
    expect((await askLarge('one')).status).toBe(200);
    expect((await askLarge('other')).status).toBe(200);
  });

  it('counts a body that announced no length as what it was, once it has been read', async () => {
    let release = (): void => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    door.sandbox.links.fault({ kind: 'hold', until, path: '/api/account' });
    const waiting = Array.from({ length: MOST_OF_ONE + 6 }, () =>
      sendChunked('one', '{ account { username } }', 'application/json'),
    );
    for (let turn = 0; turn < 20; turn += 1) await door.clock.settle();
    expect(sockets.every(({ bytesRead }) => bytesRead === 0)).toBe(true);
    const large = await door.ask(`{ __typename } #${'x'.repeat(MIB / 2)}`, 'one');
    release();
    expect(large.status).toBe(200);
    await Promise.all(waiting);
  });
});

it('Who hangs up while it is found out who that is takes no room for ever', () => {
  const pool = new BodyPool(2 * MIB);
  const plugin = useRequests({
    bodyLimits: { maxBodyBytes: MIB },
    door: anyDoor(),
    bodyPool: pool,
  });
  const request = new Request('http://gateway/graphql', {
    method: 'POST',
    headers: { 'content-length': String(MIB), 'content-type': 'application/json' },
  });
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  res.destroy();
  const setRequestParser = (): void => {};
  for (let n = 0; n < 3; n += 1) {
    const serverContext = { res };
    void plugin.onRequest?.({ request, serverContext } as never);
    void plugin.onRequestParse?.({ request, serverContext, setRequestParser } as never);
  }
  expect(() => pool.take('anyone', MIB)).not.toThrow();
});
