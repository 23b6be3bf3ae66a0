import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Codings } from '../../../src/http/encoding/codings.ts';
import { createBuiltPages } from '../../../src/http/pages/built-pages.ts';
import { serveOn } from '../../../src/http/server.ts';
import { Port } from '../../../src/http/socket/port.ts';
import { EventStream } from '../../../src/observe/event-stream.ts';
import { operatorRoutes } from '../../../src/operators/operator-pages.ts';
import { anyDoor } from '../../support/any-door.ts';
import { tempFolder } from '../../support/folder.ts';
import { until } from '../../support/uploads.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/** More than the system takes in for a client that does not read. */
const LARGE = Buffer.alloc(40_000_000, 'x');

/** Pages as a build makes them. */
const folder = tempFolder();

const clock = new VirtualClock();
const opened: { server: Port; sockets: Socket[] }[] = [];
afterEach(async () => {
  for (const { server, sockets } of opened.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await server.close();
  }
});

/** A server with a large answer at `/graphql`, and connections to it that do not read. */
async function serve(
  graphql = (_: IncomingMessage, response: ServerResponse): unknown => response.end(LARGE),
): Promise<{ ask: (head: string) => Promise<Socket>; answers: ServerResponse[] }> {
  const answers: ServerResponse[] = [];
  const server = new Port({ clock, graceMs: 0 });
  serveOn(server, {
    codings: new Codings(),
    fastPath: null,
    events: new EventStream(),
    graphql: (request, response) => {
      answers.push(response);
      return graphql(request, response);
    },
    graphiql: () => undefined,
    routes: [
      {
        '/assets/': { answer: createBuiltPages(new Codings(), folder).asset },
        ...operatorRoutes({
          access: 'local',
          metrics: { render: () => Promise.reject(new Error('no metrics here')) },
          console: {},
          probe: () => {},
          state: () => ({ ready: true, reasons: [], degraded: [] }),
        }),
      },
    ],
    door: anyDoor(),
    bodyLimits: { maxBodyBytes: 1000 },
    clock,
  });
  const sockets: Socket[] = [];
  opened.push({ server, sockets });
  const port = Number(new URL((await server.listen(0, '127.0.0.1')).url).port);
  return {
    answers,
    async ask(head) {
      const socket = connect(port, '127.0.0.1');
      // Cut off while it sends: what came of it is looked at instead.
      socket.on('error', () => undefined);
      sockets.push(socket);
      await once(socket, 'connect');
      socket.pause();
      socket.write(head);
      return socket;
    },
  };
}

const GET = 'GET /graphql?query={hello} HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** How much has come by the time the connection is at its end. */
async function rest(socket: Socket): Promise<number> {
  socket.on('data', () => undefined).resume();
  await once(socket, 'close');
  return socket.bytesRead;
}

/** How much of an answer the system has taken from the server. */
function takenOf(answer: ServerResponse | undefined): number {
  const { bytesWritten = 0, _handle: handle } = (answer?.socket ?? {}) as {
    readonly bytesWritten?: number;
    readonly _handle?: { readonly writeQueueSize: number };
  };
  return bytesWritten - (handle?.writeQueueSize ?? 0);
}

describe('A client that has stopped reading its answer', () => {
  it('is cut off after half a minute', async () => {
    const { ask, answers } = await serve();
    const socket = await ask(GET);
    await until(() => answers.length === 1);
    await clock.advance(29_000);
    expect(answers[0]?.destroyed).toBe(false);
    await clock.advance(20_000);
    expect(answers[0]?.destroyed).toBe(true);
    expect(await rest(socket)).toBeLessThan(LARGE.byteLength);
  });

  it('gains no time by sending more', async () => {
    const { ask, answers } = await serve();
    const socket = await ask(GET);
    await until(() => answers.length === 1);
    for (let count = 0; count < 5; count += 1) {
      socket.write(GET);
      await clock.advance(10_000);
    }
    expect(answers[0]?.destroyed).toBe(true);
  });

  it('is let alone as long as it reads, however slowly', async () => {
    const { ask, answers } = await serve();
    const socket = await ask(GET);
    await until(() => answers.length === 1);
    for (let count = 0; count < 8; count += 1) {
      const before = takenOf(answers[0]);
      const wanted = socket.bytesRead + 1_000_000;
      // What it reads is in buffers of the system, which take more from the server only some time later.
      const hasRead = () =>
        answers[0]?.destroyed || (socket.bytesRead >= wanted && takenOf(answers[0]) > before);
      const reader = (): void => void (hasRead() && socket.pause());
      socket.on('data', reader).resume();
      await until(hasRead);
      socket.pause().off('data', reader);
      await clock.advance(25_000);
    }
    expect(answers[0]?.destroyed).toBe(false);
  });

  it('is not taken for one that waits for its answer', async () => {
    const { ask, answers } = await serve(() => undefined);
    const socket = await ask(GET);
    await until(() => answers.length === 1);
    await clock.advance(120_000);
    answers[0]?.end('late');
    socket.resume();
    await once(socket, 'data');
  });
});

describe('A large asset', () => {
  it('takes no memory for each who asks for it unpacked and does not read', async () => {
    const bytes = 4_000_000;
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'assets', 'editor.js'), Buffer.alloc(bytes, 'x'));
    const { ask } = await serve();
    const head = 'GET /assets/editor.js HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const first = await ask(head);
    first.resume();
    await once(first, 'data');
    const before = process.memoryUsage().arrayBuffers;
    const others = await Promise.all(Array.from({ length: 40 }, () => ask(head)));
    for (const socket of others) await once(socket, 'readable');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10 * bytes);
  });
});
