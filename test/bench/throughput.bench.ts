import { it } from 'vitest';
import { percentile, record } from './report/measurement.ts';
import { type Answer, textOf } from './throughput/answer.ts';
import { startBare } from './throughput/bare.ts';
import {
  type Baseline,
  type Contest,
  figuresOf,
  memoryOf,
  type Outcome,
} from './throughput/figures.ts';
import { Gateways } from './throughput/gateways.ts';
import { load, sample } from './throughput/load.ts';
import { hasBrowser, measurePages, pagePlans, startPageOrigin } from './throughput/pages.ts';
import { PAGE_ORIGIN } from './throughput/requests.ts';
import { makeRoom, type Server } from './throughput/servers.ts';
import { isSelected, type Row, startRows } from './throughput/start-rows.ts';

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 3;
const SECONDS = 1.5;
/** Bare servers run in one process, which is soon warm, and differ little. */
const BARE_SECONDS = 1;
/** Each of them so often, by turns. */
const ROUNDS = 3;
/** Until what is kept of an answer is what it will stay. */
const SETTLED = 5;

/** `ROWS=browser,jwt npm run bench -- throughput` measures only rows whose names begin so. */
const selected = process.env['ROWS']?.split(',') ?? null;

it('throughput', async () => {
  makeRoom();
  const page = await startPageOrigin();
  const gateways = new Gateways([PAGE_ORIGIN, page.origin]);
  const { rows, peers, missing } = await startRows(gateways, selected);
  const pages = pagePlans.filter(({ name }) => isSelected(name, selected));
  if (rows.length + pages.length === 0) {
    throw new Error('No row begins so: see test/bench/throughput/rows.ts.');
  }
  const { contests, stop } = await prepare(rows);
  for (const { row } of contests) await run(row, row.server, WARM_UP_SECONDS);
  for (const { row, bare } of contests) await run(row, bare.server, BARE_SECONDS / 2);
  for (let round = 0; round < ROUNDS; round += 1) {
    // By turns, so that whatever else the machine does weighs on all alike.
    for (const { row, bare, rounds } of contests) {
      if (bare.rounds.length === round) bare.rounds.push(await run(row, bare.server, BARE_SECONDS));
      rounds.push(await run(row, row.server, SECONDS));
    }
  }
  const inBrowser = hasBrowser()
    ? await measurePages(pages, (await gateways.get('open')).server, page.origin)
    : [];
  if (!hasBrowser()) missing.push(...pages.map(({ label }) => label));
  const memory = memoryOf(await gateways.all());
  await stop();
  for (const peer of peers) await peer.stop();
  await gateways.stop();
  page.stop();

  record({
    bench: 'throughput',
    about: `Requests a dashboard of account and ten channels with five items, all cached, over ${CONNECTIONS} connections to a server on one core. Each figure is a share of the responses of a bare node:http server that reads the same requests and sends the same bytes. Yoga and Apollo Server resolve them from an object in memory. Medians of ${ROUNDS} rounds in turns.${missing.length > 0 ? ` Not installed, so left out: ${missing.join('; ')}.` : ''}`,
    figures: [...contests.flatMap(figuresOf), ...inBrowser, ...memory],
  });
});

/** Finds out what each row answers, and starts bare servers that answer the same. */
async function prepare(rows: readonly Row[]): Promise<{
  readonly contests: readonly Contest[];
  readonly stop: () => Promise<void>;
}> {
  if (rows.length === 0) return { contests: [], stop: () => Promise.resolve() };
  const samples: { readonly row: Row; readonly answer: Answer; readonly key: string }[] = [];
  for (const row of rows) {
    const request = row.next();
    const answer = await sample(row.server.port, request, SETTLED);
    check(row, answer);
    samples.push({ row, answer, key: `${request}\n${answer.body}` });
  }
  // Rows that ask for the same and get the same have one in common.
  const different = new Map(samples.map(({ key, answer }) => [key, answer]));
  const bare = await startBare([...different.values()]);
  const baselines = new Map(
    [...different.keys()].map((key, index) => [
      key,
      { server: bare.servers[index] as Server, rounds: [] },
    ]),
  );
  return {
    contests: samples.map(({ row, answer, key }) => ({
      row,
      answer,
      bare: baselines.get(key) as Baseline,
      rounds: [],
    })),
    stop: bare.stop,
  };
}

/** An error that is answered quickly must not pass for an answer. */
function check({ name, status }: Row, answer: Answer): void {
  const isRight =
    answer.status === status &&
    (status === 304 || /^\{"data":\{(?!.*"errors":)/s.test(textOf(answer)));
  if (!isRight) throw new Error(`${name} answered ${answer.head}\n${textOf(answer)}`);
}

async function run({ next, status }: Row, server: Server, seconds: number): Promise<Outcome> {
  const before = server.cpuMs();
  const { port } = server;
  const done = await load({ port, connections: CONNECTIONS, seconds, status, next });
  return {
    perSecond: done.answers / done.seconds,
    p50: percentile(done.latencies, 0.5),
    p99: percentile(done.latencies, 0.99),
    cpuMicros: ((server.cpuMs() - before) * 1000) / done.answers,
    bytes: done.bytes / done.answers,
  };
}
