import { closeSync, fdatasync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { it } from 'vitest';
import { ranBefore } from './ran-before.ts';
import { type Figure, percentile, record } from './report/measurement.ts';
import { textOf } from './throughput/answer.ts';
import { Connection } from './throughput/load.ts';
import { otherOrigin, PAGE_ORIGIN, post } from './throughput/requests.ts';
import { makeRoom, type Server, startGateway, startText } from './throughput/servers.ts';

const ROUNDS = 400;
const WARM_UP_ROUNDS = 100;
/** Until a mutation has no further effect on the next one: its end is saved in the background. */
const PAUSE_MS = 12;
const CHANNELS = 50;

/** Answers as the link API does, and counts its requests. */
const linkApi = `
import { createServer } from 'node:http';
let count = 0;
createServer((request, response) => {
  const { method, url } = request;
  if (url !== '/count') count += 1;
  const rows = Array.from({ length: ${CHANNELS} }, (_, n) => ({ id: n + 1, name: 'channel' }));
  const page = { result: rows.length, perpage: 100, currentpage: 1, nextpage: null, maxpage: 1 };
  const [, id] = /^.api.channel.(\\d+)/.exec(url) ?? [];
  const body = url === '/count' ? count
    : method === 'GET' ? { error: '0', data: { ...page, channels: rows } }
    : { error: 0, id: Number(id ?? ${CHANNELS} + count) };
  request.resume().on('end', () => response.end(JSON.stringify(body)));
}).listen(process.env.PORT, '127.0.0.1');
`;

const COUNT = 'GET /count HTTP/1.1\r\nhost: localhost\r\n\r\n';

const mutations = {
  creation: (n: number) =>
    `mutation { createChannel(input: { name: "new ${n}" }) { ... on Channel { id name } } }`,
  update: (n: number) =>
    `mutation { updateChannel(input: { id: "${1 + (n % CHANNELS)}", name: "name ${n}" }) { ... on Channel { id name } } }`,
};
type Mutation = keyof typeof mutations;
const mutationNames = Object.keys(mutations) as Mutation[];

/** A mutation with or without a key, to one gateway: the time of each, and their upstream requests. */
interface Row {
  readonly ms: number[];
  calls: number;
}

interface Place {
  readonly name: string;
  readonly connection: Connection;
  /** Maximum time that a key adds at the median, in milliseconds. */
  readonly atMost: number;
}

it('idempotency', async () => {
  makeRoom();
  const folder = await ranBefore();
  const upstream = await startText('bench-links.mjs', linkApi, {}, { core: 'ours' });
  const env = {
    LINKS_BASE_URL: `http://127.0.0.1:${upstream.port}`,
    LINKS_API_KEY: 'unused',
    LINKS_RATE_LIMIT: '400',
    LINKS_RATE_WINDOW_MS: '2000',
    LINKS_TIMEOUT_MS: '1000',
    AUTH_MODE: 'none',
    CORS_ORIGINS: PAGE_ORIGIN,
    LOG_LEVEL: 'warn',
  };
  const servers: Server[] = [upstream];
  const connections: Connection[] = [];
  const open = (server: Server): Connection => {
    servers.push(server);
    const connection = new Connection(server.port);
    connections.push(connection);
    return connection;
  };
  try {
    const alone = open(await startGateway({ ...env, STATE_DIR: folder }));
    const counter = new Connection(upstream.port);
    connections.push(counter);
    const disk: number[] = [];
    const figures = await measure([{ name: 'one process', connection: alone, atMost: 0.5 }], {
      count: async () => Number(textOf(await counter.answer(COUNT))),
      between: async () => void disk.push(await syncOnce(join(folder, 'reference'))),
    });
    figures.push({
      label: 'one fdatasync of its disk, p50',
      value: percentile(disk, 0.5),
      unit: ' ms',
      digits: 2,
      note: `p99 ${percentile(disk, 0.99).toFixed(1)} ms; one process waits for one before it sends`,
    });
    record({
      bench: 'idempotency',
      about: `Sends mutations with and without an idempotency key in turns, with the headers of Chromium, to a built gateway that saves its records on a disk. Medians of ${ROUNDS} mutations of each kind.`,
      figures,
    });
  } finally {
    for (const connection of connections) connection.end();
    for (const server of servers) await server.stop();
    rmSync(folder, { recursive: true });
  }
});

/** Milliseconds to append a line of a record's length to a file, and to save it on the disk. */
async function syncOnce(path: string): Promise<number> {
  const file = openSync(path, 'a');
  const begin = performance.now();
  writeSync(file, `${'x'.repeat(500)}\n`);
  await new Promise<void>((resolve, reject) => {
    fdatasync(file, (error) => (error ? reject(error) : resolve()));
  });
  const ms = performance.now() - begin;
  closeSync(file);
  return ms;
}

interface Between {
  /** Upstream requests so far. */
  readonly count: () => Promise<number>;
  /** Called once in each round. */
  readonly between: () => Promise<void>;
}

async function measure(places: readonly Place[], { between, count }: Between): Promise<Figure[]> {
  const rows = new Map<string, Row>();
  const rowOf = (place: Place, mutation: Mutation, isKeyed: boolean): Row => {
    const name = `${place.name} ${mutation} ${isKeyed}`;
    const row = rows.get(name) ?? { ms: [], calls: 0 };
    rows.set(name, row);
    return row;
  };
  let serial = 0;
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
    await between();
    for (const place of places) {
      for (const mutation of mutationNames) {
        // By turns, and each as often the first, so that whatever else the machine does weighs on both alike.
        for (const isKeyed of round % 2 === 0 ? [false, true] : [true, false]) {
          serial += 1;
          const key = isKeyed ? { 'idempotency-key': `"key-${serial}"` } : {};
          const request = post({ ...otherOrigin, ...key }, mutations[mutation](serial));
          const before = await count();
          const begin = performance.now();
          const answer = await place.connection.answer(request);
          const ms = performance.now() - begin;
          check(textOf(answer), isKeyed);
          await pause(PAUSE_MS);
          if (round < 0) continue;
          const row = rowOf(place, mutation, isKeyed);
          row.ms.push(ms);
          row.calls += (await count()) - before;
        }
      }
    }
  }
  return places.flatMap((place) =>
    mutationNames.flatMap((mutation) => {
      const [keyed, plain] = [rowOf(place, mutation, true), rowOf(place, mutation, false)];
      const [slow, fast] = [percentile(keyed.ms, 0.5), percentile(plain.ms, 0.5)];
      return [
        {
          label: `${place.name}: time that a key adds to ${mutation === 'update' ? 'an' : 'a'} ${mutation}, p50`,
          value: slow - fast,
          unit: ' ms',
          digits: 2,
          target: { atMost: place.atMost },
          note: `${slow.toFixed(2)} ms over ${fast.toFixed(2)} ms, ratio ${(slow / fast).toFixed(2)}; p99 ${percentile(keyed.ms, 0.99).toFixed(1)} ms over ${percentile(plain.ms, 0.99).toFixed(1)} ms`,
        },
        {
          label: `${place.name}: upstream requests that a key adds to ${ROUNDS} ${mutation}s`,
          value: keyed.calls - plain.calls,
          target: { atMost: 0 },
          note: `${keyed.calls} and ${plain.calls}`,
        },
      ];
    }),
  );
}

/** An error, or a mutation that was not executed under its key, must not pass for a result. */
function check(text: string, isKeyed: boolean): void {
  const isRight = text.startsWith('{"data":') && !text.includes('"errors"');
  if (!isRight || text.includes('"EXECUTED"') !== isKeyed) throw new Error(text);
}
