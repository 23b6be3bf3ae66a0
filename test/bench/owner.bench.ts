import { existsSync, readFileSync } from 'node:fs';
import { it } from 'vitest';
import { postgresServer } from '../support/needs.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { type Household, type Member, openHousehold } from '../support/two-processes.ts';
import { type Figure, percentile, record } from './report/measurement.ts';
import { Connection, load } from './throughput/load.ts';
import { DASHBOARD, otherAliases, plain, post } from './throughput/requests.ts';

const CONNECTIONS = 32;
const SECONDS = 1.5;
/** Each by turns, so that whatever else the machine does weighs on all alike. */
const ROUNDS = 3;
/** Requests of each kind to each store. */
const SINGLE = 40;

/** What a store may cost at the median over `STATE_DIR=off`, in milliseconds. */
interface Place {
  readonly name: string;
  readonly house: Household;
  readonly owner: Member;
  readonly atMost: { readonly read: number; readonly write: number };
  readonly ms: { readonly read: number[]; readonly write: number[] };
}

const portOf = ({ url }: Member): number => Number(new URL(url).port);

async function place(
  name: string,
  env: Readonly<Record<string, string>>,
  atMost: Place['atMost'],
): Promise<Place> {
  const house = await openHousehold({ LOG_LEVEL: 'info', ...env });
  return { name, house, owner: await house.join(), atMost, ms: { read: [], write: [] } };
}

it('owner', async () => {
  const server = existsSync(postgresServer.path) ? await PostgresServer.run() : null;
  const none = await place('STATE_DIR=off', { STATE_DIR: 'off' }, { read: 0, write: 0 });
  const folder = await place('the embedded store', {}, { read: 1, write: 1 });
  const places = [none, folder];
  if (server) {
    places.push(await place('PostgreSQL', { DATABASE_URL: server.url }, { read: 3, write: 4 }));
  }
  try {
    const restMb = places.map(({ owner }) => memoryMb(owner));
    await askInTurns(places);
    const figures = places.slice(1).flatMap((each) => costOver(none, each));
    figures.push(...(await forwarded(folder)));
    figures.push(...(await restarted()));
    places.forEach(({ name }, at) => {
      if (at === 0) return;
      const value = (restMb[at] ?? Number.NaN) - (restMb[0] ?? 0);
      const label = `memory at rest more with ${name} than with STATE_DIR=off`;
      figures.push({ label, value, unit: ' MB', digits: 1, target: { atMost: 6 } });
    });
    record({
      bench: 'owner',
      about: `Reads and writes through processes on no store, the embedded one and PostgreSQL, by turns: medians of ${SINGLE} requests. Cached responses through the owner and through a process that forwards to it, over ${CONNECTIONS} connections, and through the first and the second process on a folder: medians of ${ROUNDS} rounds.`,
      figures,
    });
  } finally {
    for (const { house } of places) await house.close();
    await server?.close();
  }
});

/** Asks each place for a row that nobody has read, and for a creation with a key. */
async function askInTurns(places: readonly Place[]): Promise<void> {
  const asked = places.map(({ ms, owner }) => ({ ms, connection: new Connection(portOf(owner)) }));
  const timed = async (connection: Connection, request: string): Promise<number> => {
    const begin = performance.now();
    await connection.answer(request);
    return performance.now() - begin;
  };
  for (let round = 0; round < 2 * SINGLE; round += 1) {
    const read = post(plain, `{ user(id: "${1 + round}") { email } }`);
    const keyed = { ...plain, 'idempotency-key': `key-${round}` };
    const write = post(
      keyed,
      `mutation { createChannel(input: { name: "new ${round}" }) { ... on Channel { id } } }`,
    );
    for (const { connection, ms } of asked) {
      const readMs = await timed(connection, read);
      const writeMs = await timed(connection, write);
      // The first half warms up.
      if (round < SINGLE) continue;
      ms.read.push(readMs);
      ms.write.push(writeMs);
    }
  }
  for (const { connection } of asked) connection.end();
}

function costOver(none: Place, { atMost, ms, name }: Place): Figure[] {
  const names = { read: 'a cold read', write: 'a mutation with a key' };
  return (['read', 'write'] as const).map((kind) => {
    const [before, after] = [percentile(none.ms[kind], 0.5), percentile(ms[kind], 0.5)];
    return {
      label: `${names[kind]} with ${name} more than with STATE_DIR=off, p50`,
      value: after - before,
      unit: ' ms',
      digits: 2,
      target: { atMost: atMost[kind] },
      note: `${after.toFixed(2)} and ${before.toFixed(2)} ms`,
    };
  });
}

/** A cached response of the owner, and the same through a process that waits. */
async function forwarded({ house, owner }: Place): Promise<Figure[]> {
  const waiting = await house.join();
  const request = post(plain, DASHBOARD);
  const run = async (member: Member, connections: number) => {
    const next = () => request;
    const done = await load({ port: portOf(member), connections, seconds: SECONDS, next });
    return { rate: done.answers / done.seconds, p50: percentile(done.latencies, 0.5) };
  };
  const ratios: number[] = [];
  const more: number[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    const direct = await run(owner, CONNECTIONS);
    const through = await run(waiting, CONNECTIONS);
    const [one, other] = [await run(owner, 1), await run(waiting, 1)];
    if (round < 0) continue;
    ratios.push(through.rate / direct.rate);
    more.push(other.p50 - one.p50);
  }
  return [
    {
      label: 'throughput of cached responses through a process that forwards, of a direct one',
      value: percentile(ratios, 0.5),
      digits: 2,
      target: { atLeast: 0.5 },
    },
    {
      label: 'a cached response through a process that forwards, more at p50',
      value: percentile(more, 0.5),
      unit: ' ms',
      digits: 2,
      target: { atMost: 1 },
    },
  ];
}

/** What a process answers that is the second on its folder, over what one answers that is the first. */
async function restarted(): Promise<Figure[]> {
  const other = otherAliases();
  const kinds = {
    'repeated requests': () => post(plain, DASHBOARD),
    'texts never seen before': () => post(plain, other()),
  };
  const [fresh, used] = [await openHousehold(), await openHousehold()];
  try {
    const before = await used.join();
    const connection = new Connection(portOf(before));
    await connection.answer(post(plain, DASHBOARD));
    connection.end();
    await before.stop();
    const [first, second] = [portOf(await fresh.join()), portOf(await used.join())];
    const figures: Figure[] = [];
    for (const [kind, next] of Object.entries(kinds)) {
      const ratios: number[] = [];
      for (let round = -1; round < ROUNDS; round += 1) {
        const rates: number[] = [];
        for (const port of [first, second]) {
          const done = await load({ port, connections: CONNECTIONS, seconds: SECONDS, next });
          rates.push(done.answers / done.seconds);
        }
        if (round >= 0) ratios.push((rates[1] ?? 0) / (rates[0] ?? 0));
      }
      const label = `${kind} to the second process on a folder, over the first`;
      figures.push({
        label,
        value: percentile(ratios, 0.5),
        digits: 2,
        target: { atLeast: 0.9 },
      });
    }
    return figures;
  } finally {
    await Promise.all([fresh.close(), used.close()]);
  }
}

function memoryMb({ running }: Member): number {
  const status = readFileSync(`/proc/${running.child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1]) / 1000;
}
