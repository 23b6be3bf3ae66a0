import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { it } from 'vitest';
import { percentile, record } from './report/measurement.ts';
import { makeRoom, type Server, startGateway, startText } from './throughput/servers.ts';

const MB = 1_000_000;
const LARGE = 500 * MB;
/** Uploads of each, by turns, and how large they are. */
const PAIRS = 15;
const EACH = 200 * MB;
const SAMPLE_EVERY_MS = 20;

/** Takes any body, forgets it, and answers as the link API does. */
const sink = `
import { createServer } from 'node:http';
const server = createServer((request, response) => {
  request.resume().on('end', () => response.end('{"error":0,"id":1,"shorturl":"http://localhost/f/a"}'));
}).listen(process.env.PORT, '127.0.0.1');
`;

/** The least that can pass an upload on: what any gateway pays. */
const barePipe = `
import { createServer, request as ask } from 'node:http';
const server = createServer((request, response) => {
  const { 'content-length': length } = request.headers;
  const onward = ask(process.env.UPSTREAM, { method: 'POST', headers: { 'content-length': length } });
  onward.on('response', (answer) => answer.pipe(response));
  request.pipe(onward);
}).listen(process.env.PORT, '127.0.0.1');
`;

/** What an upload took. */
interface Took {
  readonly ms: number;
  /** Processor time of the process that passed it on, all threads. */
  readonly cpuMs: number;
}

it('passes 500 MB on in little memory, and about as fast as a bare pipe', async () => {
  makeRoom();
  const upstream = await startText('bench-sink.mjs', sink, {}, { core: 'ours' });
  const address = `http://127.0.0.1:${upstream.port}`;
  const bare = await startText('bench-pipe.mjs', barePipe, { UPSTREAM: address });
  const gateway = await startGateway({
    LINKS_BASE_URL: address,
    LINKS_API_KEY: 'unused',
    LINKS_RATE_LIMIT: '1000',
    AUTH_MODE: 'none',
  });
  const servers = [upstream, bare, gateway];
  try {
    const growthMb = await growthOf(gateway, () => upload(gateway, LARGE));
    const bareGrowthMb = await growthOf(bare, () => upload(bare, LARGE));
    const bares: Took[] = [];
    const gateways: Took[] = [];
    // By turns, so that whatever else the machine does weighs on both alike.
    for (let pair = 0; pair < PAIRS; pair += 1) {
      bares.push(await upload(bare, EACH));
      gateways.push(await upload(gateway, EACH));
    }
    const median = (all: readonly number[]): number => percentile(all, 0.5);
    const ratio = median(bares.map(({ ms }, pair) => ms / (gateways[pair]?.ms ?? Number.NaN)));
    const speed = (all: readonly Took[]) =>
      Math.round(EACH / 1000 / median(all.map(({ ms }) => ms)));
    // In all and no median: it is counted in steps of 10 ms.
    const cost = (all: readonly Took[]) =>
      (all.reduce((sum, { cpuMs }) => sum + cpuMs, 0) * 1000 * MB) / (EACH * PAIRS);
    record({
      bench: 'upload',
      about: `Uploads ${LARGE / MB} MB by PUT to the built gateway, then ${EACH / MB} MB to it and to a bare node:http pipe in turns, each on one core, to an upstream that only reads. ${PAIRS} pairs.`,
      figures: [
        {
          label: `memory growth of the gateway during ${LARGE / MB} MB`,
          value: growthMb,
          unit: ' MB',
          target: { atMost: 64 },
          note: `a bare node:http pipe grows by ${Math.round(bareGrowthMb)} MB`,
        },
        {
          label: 'throughput of an upload, over that of a bare node:http pipe',
          value: ratio,
          digits: 2,
          // About as fast; less by what another program on the machine can do to either.
          target: { atLeast: 0.8 },
          note: `${speed(gateways)} MB/s over ${speed(bares)} MB/s`,
        },
        {
          label: 'bytes per second of processor time, over a bare node:http pipe',
          value: cost(bares) / cost(gateways),
          digits: 2,
          note: `${Math.round(cost(gateways))} µs of processor each MB over ${Math.round(cost(bares))} µs, all threads`,
        },
      ],
    });
  } finally {
    for (const server of servers) await server.stop();
  }
});

/** Sends this many bytes as fast as they are taken, at little cost to this process. */
async function upload(server: Server, bytes: number): Promise<Took> {
  const piece = Buffer.alloc(64 * 1024, 'uploaded');
  const cpuBefore = server.cpuMs();
  const startedAt = performance.now();
  const socket = connect(server.port, '127.0.0.1');
  socket.write(
    `PUT /files/large.bin HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: ${bytes}\r\n\r\n`,
  );
  const answered = text(socket);
  for (let rest = bytes; rest > 0; rest -= piece.length) {
    if (!socket.write(piece.subarray(0, rest))) await once(socket, 'drain');
  }
  const answer = await answered;
  if (!answer.startsWith('HTTP/1.1 20')) throw new Error(answer);
  return { ms: performance.now() - startedAt, cpuMs: server.cpuMs() - cpuBefore };
}

/** MB by which a server is larger at most, during some work, than before it. */
async function growthOf(server: Server, work: () => Promise<unknown>): Promise<number> {
  const before = server.memoryMb();
  let most = before;
  const sampling = setInterval(() => {
    most = Math.max(most, server.memoryMb());
  }, SAMPLE_EVERY_MS);
  await work().finally(() => clearInterval(sampling));
  return most - before;
}
