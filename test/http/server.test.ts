import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { Codings } from '../../src/http/encoding/codings.ts';
import { type HttpOptions, serveOn } from '../../src/http/server.ts';
import { ListenError } from '../../src/http/socket/listen.ts';
import { Port } from '../../src/http/socket/port.ts';
import { EventStream } from '../../src/observe/event-stream.ts';
import { operatorRoutes } from '../../src/operators/operator-pages.ts';
import { type Clock, systemClock } from '../../src/scheduling/clock.ts';
import { anyDoor } from '../support/any-door.ts';
import { smallServer } from '../support/small-graph.ts';

const opened: Port[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

/** A page that says its name instead of nine megabytes. */
const page = (_: IncomingMessage, response: { end: (text: string) => void }): void => {
  response.end('the page');
};

/** A server that answers probes and nothing else, unless `options` say more. */
function small(options: Partial<HttpOptions> = {}): Port {
  const clock = options.clock ?? systemClock;
  const port = new Port({ clock, graceMs: 10_000 });
  serveOn(port, {
    codings: new Codings(),
    fastPath: null,
    events: new EventStream(),
    graphql: () => undefined,
    graphiql: page,
    routes: [
      {
        '/': { answer: (_, response) => void response.end('the landing page') },
        '/files/': { answer: (_, response) => void response.end(), limitsBody: true },
        ...operatorRoutes({
          access: 'local',
          metrics: { render: () => Promise.reject(new Error('no metrics here')) },
          console: {},
          probe: () => {},
          state: (draining) => ({ ready: !draining, reasons: [], degraded: [] }),
        }),
      },
    ],
    door: anyDoor(),
    bodyLimits: { maxBodyBytes: 1000 },
    clock,
    ...options,
  });
  return port;
}

async function serve(
  options: { gate?: Promise<unknown>; clock?: Clock } = {},
): Promise<{ server: Port; url: string }> {
  const { server: graphql } = smallServer(options.gate ? { gate: options.gate } : {});
  const server = small({
    graphql,
    clock: options.clock ?? systemClock,
  });
  opened.push(server);
  const { url } = await server.listen(0, '127.0.0.1');
  return { server, url };
}

const query = (body: string): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: body }),
});

const browser = { headers: { accept: 'text/html,application/xhtml+xml' } };

describe('routes', () => {
  it('answers the graph at /graphql, to POST and to GET', async () => {
    const { url } = await serve();
    expect(await (await fetch(`${url}/graphql`, query('{ hello }'))).json()).toEqual({
      data: { hello: 'hello world' },
    });
    expect(await (await fetch(`${url}/graphql?query={hello}`)).json()).toEqual({
      data: { hello: 'hello world' },
    });
  });

  it('shows a browser GraphiQL at /graphql, and the landing page at /', async () => {
    const { url } = await serve();
    expect(await (await fetch(`${url}/graphql`, browser)).text()).toBe('the page');
    expect(await (await fetch(`${url}/`, browser)).text()).toBe('the landing page');
  });

  it('answers probes, to GET and HEAD only', async () => {
    const { url } = await serve();
    for (const path of ['/livez', '/readyz', '/livez?verbose']) {
      expect((await fetch(url + path)).status).toBe(200);
      expect((await fetch(url + path, { method: 'HEAD' })).status).toBe(200);
      expect((await fetch(url + path, { method: 'POST' })).status).toBe(405);
    }
  });

  it.each(['/nothing', '/graphql/', '/graphqlx', '//evil.example/graphql'])(
    'has nothing at %s',
    async (path) => {
      const { url } = await serve();
      expect((await exchange(url, `GET ${path} HTTP/1.1\r\nHost: x\r\n`)).status).toBe(404);
    },
  );

  it.each(['a b', '[', 'x:99999', '/', '%', ''])(
    'shows nothing of its inside to a Host header of %j',
    async (host) => {
      const { url } = await serve();
      const { text } = await exchange(
        url,
        `GET /graphql?query=%7Bhello%7D HTTP/1.1\r\nHost: ${host}\r\n`,
      );
      expect(text).not.toMatch(/node_modules|\.js:|Error:/);
    },
  );
});

/** One request, byte by byte as given, over a connection of its own. */
async function exchange(url: string, head: string): Promise<{ status: number; text: string }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`${head}Connection: close\r\n\r\n`);
  const answer = await text(socket);
  return { status: Number(answer.split(' ')[1]), text: answer };
}

describe('a body', () => {
  it('that is announced as too long is refused before it is sent', async () => {
    const { url } = await serve();
    const head = 'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    const { status, text } = await exchange(url, `${head}Content-Length: 1001\r\n`);
    expect(status).toBe(413);
    expect(text).toContain('"code":"BAD_USER_INPUT"');
  });

  it('that announces no length is refused when it grows too long', async () => {
    const { url } = await serve();
    const send = async (bytes: number): Promise<number | undefined> => {
      const sent = request(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      });
      sent.end(JSON.stringify({ query: '{ hello }' }).padEnd(bytes));
      return (await answerTo(sent)).statusCode;
    };
    expect(await send(1000)).toBe(200);
    expect(await send(1001)).toBe(413);
  });
});

async function answerTo(sent: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response;
}

describe('listen', () => {
  it('names the setting in one line if the port is in use', async () => {
    const { url } = await serve();
    const port = Number(new URL(url).port);
    const { server } = await serve();
    const second = small();
    await expect(second.listen(port, '127.0.0.1')).rejects.toThrow(
      new ListenError(
        `Port ${port} on 127.0.0.1 is in use by another process. Set PORT to a free port, or to 0 for any.`,
      ),
    );
    await second.close();
    await server.close();
  });

  it('names an address that this machine does not have', async () => {
    const server = small();
    await expect(server.listen(0, '203.0.113.1')).rejects.toThrow(/Set HOST/);
  });
});

describe('close', () => {
  it('lets a running request finish, and takes no new connection meanwhile', async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { server, url } = await serve({ gate });
    const agent = new Agent({ keepAlive: true });
    const sent = request(`${url}/graphql?query={slow}`, { agent }).end();
    const response = answerTo(sent);
    await once(sent, 'finish');
    // Another request's answer proves that the server has the first one by now.
    await fetch(`${url}/livez`);
    const closed = server.close();
    await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed');
    open();
    expect((await response).statusCode).toBe(200);
    expect((await response).headers.connection).toBe('close');
    await closed;
  });

  it('ends at once what is still running when the grace is over', async () => {
    const tasks = new Map<number, () => void>();
    const clock: Clock = {
      ...systemClock,
      after: (ms, task) => {
        tasks.set(ms, task);
        return () => undefined;
      },
    };
    const { server, url } = await serve({ gate: new Promise(() => undefined), clock });
    const sent = request(`${url}/graphql?query={slow}`).end();
    const failed = once(sent, 'error');
    // An aborted request is what is expected here.
    sent.on('error', () => undefined);
    await fetch(`${url}/livez`);
    const closed = server.close();
    // Other timers are of other length: of answers that are not read, and of turns of the event loop.
    expect([...tasks.keys()]).toContain(10_000);
    tasks.get(10_000)?.();
    await closed;
    expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' });
  });

  it('does not wait for idle connections, and can be asked twice', async () => {
    const { server, url } = await serve();
    const agent = new Agent({ keepAlive: true });
    const sent = request(`${url}/livez`, { agent }).end();
    await once(await answerTo(sent), 'end');
    await Promise.all([server.close(), server.close()]);
    agent.destroy();
  });
});
