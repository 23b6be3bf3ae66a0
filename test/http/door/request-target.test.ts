import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';

const QUERY = '/graphql?query={account{username}}';
const POSTED = '{"query":"{account{username}}"}';
const EVENTS = 'Accept: text/event-stream\r\n';
const json = 'Content-Type: application/json\r\n';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'true' });
});

/** Sends a request as it is, on a connection of its own that ends with it. */
async function exchange(line: string, headers = 'Host: localhost\r\n', body = '') {
  const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
  socket.write(`${line}\r\n${headers}${length}Connection: close\r\n\r\n${body}`);
  // A stream is left at its first byte.
  if (headers.includes(EVENTS)) socket.once('data', () => socket.end());
  const answer = await text(socket);
  return { status: Number(answer.split(' ')[1]), answer };
}

describe('A whole address as request target', () => {
  it.each([
    ['a query', 200, 'GET', QUERY, '', ''],
    ['a query in a body', 200, 'POST', '/graphql', json, POSTED],
    ['a live query', 200, 'GET', '/graphql?query=query%20@live{plans{name}}', EVENTS, ''],
    ['a page', 200, 'GET', '/graphql', 'Accept: text/html\r\n', ''],
    ['a preflight', 204, 'OPTIONS', '/files/a.txt', 'Origin: https://a.example\r\n', ''],
    ['an upload', 201, 'PUT', '/files/a.txt', '', 'x'],
    ['the schema', 200, 'GET', '/schema.graphql', '', ''],
    ['the metrics', 200, 'GET', '/metrics', '', ''],
    ['the console', 200, 'GET', '/console.json', '', ''],
    ['a probe', 200, 'GET', '/readyz', '', ''],
    ['nothing', 404, 'GET', '/nothing', '', ''],
    ['nothing below', 404, 'GET', '/graphql/', '', ''],
    ['nothing beside', 404, 'GET', '/graphqlx', '', ''],
    ['nothing below another name', 404, 'GET', '//localhost/graphql', '', ''],
  ])('is answered as its path is: %s (%i)', async (_, status, method, path, headers, body) => {
    // Cold and remembered alike.
    for (const scheme of ['http', 'HTTP', 'https', 'http']) {
      const line = `${method} ${scheme}://localhost:4000${path} HTTP/1.1`;
      const { status: answered } = await exchange(line, `Host: localhost\r\n${headers}`, body);
      expect(answered).toBe(status);
    }
  });

  it('shares what is remembered with its path', async () => {
    await exchange(`GET ${QUERY} HTTP/1.1`);
    const calls = door.calls();
    const { answer } = await exchange(`GET http://localhost${QUERY} HTTP/1.1`);
    expect(answer).toContain('"username"');
    expect(answer).toContain('"calls":0');
    expect(door.calls()).toBe(calls);
  });

  it.each([
    `GET ${QUERY}`,
    `POST /graphql`,
    'PUT /files/a.txt',
    'GET /schema.graphql',
    'GET /metrics',
    'GET /console.json',
  ])('brings the host that all checks look at: %s', async (asked) => {
    const [method, path] = asked.split(' ');
    const body = method === 'POST' ? POSTED : method === 'PUT' ? 'x' : '';
    const headers = method === 'POST' ? json : '';
    const of = (target: string, host: string) =>
      exchange(`${method} http://${target}${path} HTTP/1.1`, `Host: ${host}\r\n${headers}`, body);
    for (const foreign of ['evil.example', 'evillocalhost', 'localhost.evil.example']) {
      expect((await of(foreign, 'localhost')).status).toBe(403);
    }
    expect((await of('LocalHost:80', 'evil.example')).status).toBeLessThan(300);
    // Without a Host header only HTTP/1.0 may come.
    const old = await exchange(`${method} http://evil.example${path} HTTP/1.0`, headers, body);
    expect(old.status).toBe(403);
  });

  it('decides which page is the gateway’s own', async () => {
    const wide = door;
    door = await openDoor({ AUTH_MODE: 'none', HOST: '0.0.0.0' });
    const line = `GET http://gateway.example${QUERY} HTTP/1.1`;
    const from = (origin: string) => exchange(line, `Host: evil.example\r\nOrigin: ${origin}\r\n`);
    expect((await from('http://gateway.example')).status).toBe(200);
    expect((await from('http://evil.example')).status).toBe(403);
    await door.close();
    door = wide;
  });

  it('is not needed by HTTP/1.0, which need not name a host', async () => {
    expect((await exchange(`GET ${QUERY} HTTP/1.0`, '')).status).toBe(200);
    expect((await exchange(`GET ${QUERY} HTTP/1.1`, '')).status).toBe(400);
  });

  it('may be without a path', async () => {
    for (const target of ['http://localhost', 'http://localhost?a=/graphql']) {
      const { answer, status } = await exchange(`GET ${target} HTTP/1.1`);
      expect(status).toBe(200);
      expect(answer).toContain('\n/graphql ');
    }
    const browser = await exchange(
      'GET http://localhost HTTP/1.1',
      'Host: localhost\r\nAccept: text/html\r\n',
    );
    expect(browser.answer).toContain('<a href="/graphql">');
  });
});

describe('A request target', () => {
  it.each([
    'GET http://user:password@localhost/graphql',
    'GET http://evil.example@localhost/graphql',
    'GET http:///graphql',
    'GET http://localhost:99999/graphql',
    'GET http://localhost/graphql#part',
    'GET ftp://localhost/graphql',
    'GET *',
    'POST *',
    'GET localhost:4000',
    'GET graphql',
  ])('that no server can read is refused, and a probe too: %s', async (line) => {
    const { answer, status } = await exchange(`${line} HTTP/1.1`);
    expect(status).toBe(400);
    expect(answer).not.toMatch(/node_modules|\.js:|password/);
  });

  it('that is refused ends its connection, and what was sent behind it is not done', async () => {
    const behind =
      'GET /schema.graphql HTTP/1.1\r\nHost: localhost\r\nOrigin: http://behind.example';
    for (const host of ['Host: evil.example\r\n', 'Host: localhost\r\nHost: localhost\r\n']) {
      const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
      const first = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n';
      socket.write(`${first}GET ${QUERY} HTTP/1.1\r\n${host}\r\n${behind}\r\n\r\n`);
      expect((await text(socket)).match(/^HTTP.*/gm)).toHaveLength(2);
    }
    // The log reports a refused foreign page, whether its answer is sent or not.
    expect(door.log()).not.toContain('behind.example');
    await exchange(
      'GET /schema.graphql HTTP/1.1',
      'Host: localhost\r\nOrigin: http://b.example\r\n',
    );
    expect(door.log()).toContain('b.example');
  });

  it('of OPTIONS may be the gateway as a whole', async () => {
    for (const target of ['*', 'http://localhost']) {
      const { answer, status } = await exchange(`OPTIONS ${target} HTTP/1.1`);
      expect(status).toBe(204);
      expect(answer).toContain('Allow: GET, HEAD, POST, PUT, OPTIONS');
    }
    const refused = await exchange('OPTIONS * HTTP/1.1', 'Host: evil.example\r\n');
    expect(refused.status).toBe(403);
  });

  it('of CONNECT is no place to go to, and the gateway goes on', async () => {
    const { answer, status } = await exchange('CONNECT evil.example:443 HTTP/1.1');
    expect(status).toBe(405);
    for (const header of ['Allow: ', 'X-Content-Type-Options: nosniff', 'Connection: close']) {
      expect(answer).toContain(header);
    }
    expect(answer).toMatch(/\r\n\r\nThe gateway is not a proxy\.\n$/);
    expect((await exchange('GET /livez HTTP/1.1')).status).toBe(200);
  });
});
