import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';

const GRACE_MS = 20_000;

let door: Door;
let sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
});

async function open(): Promise<void> {
  door = await openDoor({
    AUTH_MODE: 'none',
    shutdownGraceMs: String(GRACE_MS),
    maxAliases: '2000',
    maxFields: '2000',
  });
}

/** Some hundred kilobytes. */
const names = Array.from({ length: 40 }, (_, n) => `name${n}: name`).join(' ');
const CODES = `qrCodes(first: 500) { nodes { id ${names} } }`;
/** More than the sockets of both sides hold. */
const lists = Array.from({ length: 40 }, (_, n) => `list${n}: qrCodes(first: 500) { ...Names }`);
const LARGE = `{ ${lists.join(' ')} } fragment Names on QrCodeConnection { nodes { id ${names} } }`;

/** Sends something on a connection of its own, and reads nothing of what comes back. */
async function sendUnread(text: string): Promise<Socket> {
  const { hostname, port } = new URL(door.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  await new Promise((resolve) => void socket.write(text, resolve));
  return socket;
}

function post(query: string, lines: readonly string[] = []): string {
  const body = JSON.stringify({ query });
  const head = [
    'POST /graphql HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...lines,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

async function stop(): Promise<number> {
  const since = door.clock.now();
  const ended: number[] = [];
  void door.gateway.close().then(() => ended.push(door.clock.now()));
  while (ended.length === 0) await door.clock.advance(250);
  return (ended[0] ?? Number.NaN) - since;
}

describe('a stop waits no 4 of its 20 seconds for', () => {
  const promptly = async () => expect(await stop()).toBeLessThan(4000);

  it('the viewer of a live query who does not read', async () => {
    await open();
    const query = `query @live { channels(first: 1) { nodes { databaseId name } } ${CODES} }`;
    const watcher = await LiveViewer.begun(door.url, { query, readsAges: false });
    const viewer = await LiveViewer.begun(door.url, { query, readsAges: false });
    viewer.stall();
    const channel = () =>
      (watcher.data as { channels: { nodes: [{ databaseId: number; name: string }] } }).channels
        .nodes[0];
    for (let n = 0; n < 60; n += 1) {
      const input = `{ id: ${channel().databaseId}, name: "name ${n}" }`;
      await door.ask(`mutation { updateChannel(input: ${input}) { __typename } }`);
      await watcher.until(() => channel().name === `name ${n}`);
    }
    await promptly();
  });

  it('viewers of a live query who read, and keep their connections', async () => {
    await open();
    const query = 'query @live { account { username } }';
    const viewers = await Promise.all(
      [1, 2, 3].map(() => LiveViewer.begun(door.url, { query, readsAges: false })),
    );
    await promptly();
    for (const { events } of viewers) expect(events.at(-1)?.retryMs).toBeGreaterThan(0);
  });

  it.each([
    ['the first time', []],
    ['as a browser asks', ['Origin: http://localhost:4000', 'Sec-Fetch-Site: same-origin']],
  ])('the client of large answers who does not read: %s', async (_, lines) => {
    await open();
    await sendUnread(post(LARGE, lines));
    await door.clock.advance(100);
    await promptly();
  });

  it('the client of remembered answers who does not read', async () => {
    await open();
    for (let n = 0; n < 3; n += 1) await door.ask(LARGE);
    await sendUnread(post(LARGE));
    await door.clock.advance(100);
    await promptly();
  });

  it.each([
    ['half a head', 'POST /graphql HTTP/1.1\r\nHost: local'],
    ['a request and half a head', `${post('{ __typename }')}POST /graphql HTT`],
  ])('the rest of a request: %s', async (_, text) => {
    await open();
    await sendUnread(text);
    await door.clock.settle();
    await promptly();
  });
});

describe('a stop waits', () => {
  it('for a slow reader of an answer, as long as they read', async () => {
    await open();
    const socket = await sendUnread(post(LARGE));
    await door.clock.settle();
    let bytes = 0;
    socket.on('data', (piece) => {
      bytes += piece.length;
      socket.pause();
    });
    const closed = door.gateway.close();
    for (let n = 0; !socket.readableEnded; n += 1) {
      socket.resume();
      await door.clock.advance(10);
    }
    await closed;
    expect(bytes).toBeGreaterThan(4_000_000);
  });
});
