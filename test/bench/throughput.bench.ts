import { it } from 'vitest';
import { type Figure, percentile, record } from './report/measurement.ts';
import { load } from './throughput/load.ts';
import { makeRoom, type Server, startBare, startGateway, startYoga } from './throughput/servers.ts';

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 3;
const SECONDS = 3;
/** Each of them so often, by turns. */
const ROUNDS = 3;

const DASHBOARD = `query ($channels: Int = 10) { account { username }
  channels(first: $channels) { nodes { id name items(first: 5) { totalCount nodes {
    ... on ChannelEntry { title link } } } } } }`;
/** The dashboard with three channels by id beside it: a million operations over the same rows. */
const UNSEEN = `query ($a: ID!, $b: ID!, $c: ID!) { account { username }
  a: channel(id: $a) { name } b: channel(id: $b) { name } c: channel(id: $c) { name }
  channels(first: 10) { nodes { id name items(first: 5) { totalCount nodes {
    ... on ChannelEntry { title link } } } } } }`;

/** The same with everything by variables, so that no part of it can be used again. */
const ALL_UNSEEN = `query ($a: ID!, $b: ID!, $c: ID!, $channels: Int, $items: Int) {
  account { username }
  a: channel(id: $a) { name } b: channel(id: $b) { name } c: channel(id: $c) { name }
  channels(first: $channels) { nodes { id name items(first: $items) { totalCount nodes {
    ... on ChannelEntry { title link } } } } } }`;

/** One kind of request to one server. */
interface Case {
  readonly name: string;
  readonly server: Server;
  readonly next: () => string;
  readonly status?: number;
}

/** What a case came to, at its median round. */
interface Outcome {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Processor time of the server for each answer, in µs. */
  readonly cpuMicros: number;
}

it('throughput', async () => {
  makeRoom();
  const quiet = await startGateway({ LOG_LEVEL: 'warn' });
  const telling = await startGateway({ LOG_LEVEL: 'info' });
  const restMb = quiet.memoryMb();
  const answer = await ask(quiet, DASHBOARD);
  await ask(telling, DASHBOARD);
  const { ids, etag } = await prepare(quiet);
  const bare = await startBare(answer);
  const yoga = await startYoga(answer);
  const cases: readonly Case[] = [
    { name: 'bare', server: bare, next: () => post(DASHBOARD) },
    { name: 'yoga', server: yoga, next: () => post(DASHBOARD) },
    { name: 'same', server: quiet, next: () => post(DASHBOARD) },
    { name: 'told', server: telling, next: () => post(DASHBOARD) },
    { name: 'unseen', server: quiet, next: unseen(UNSEEN, ids) },
    {
      name: 'all unseen',
      server: quiet,
      next: unseen(ALL_UNSEEN, ids, { channels: 10, items: 5 }),
    },
    { name: 'etag', server: quiet, status: 304, next: () => get(DASHBOARD, etag) },
  ];
  const rounds = new Map<string, Outcome[]>(cases.map(({ name }) => [name, []]));
  for (const each of cases) await run(each, WARM_UP_SECONDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    // By turns, so that whatever else the machine does weighs on all alike.
    for (const each of cases) rounds.get(each.name)?.push(await run(each, SECONDS));
  }
  const loadedMb = quiet.memoryMb();
  for (const server of [quiet, telling, bare, yoga]) await server.stop();

  const of = (name: string, member: keyof Outcome) =>
    percentile(
      (rounds.get(name) ?? []).map((outcome) => outcome[member]),
      0.5,
    );
  const overBare = (name: string) =>
    percentile(
      (rounds.get(name) ?? []).map(
        ({ perSecond }, round) =>
          perSecond / (rounds.get('bare')?.[round]?.perSecond ?? Number.NaN),
      ),
      0.5,
    );
  const note = (name: string) =>
    `${Math.round(of(name, 'perSecond'))} a second, ${Math.round(of(name, 'cpuMicros'))} µs of processor each, p50 ${of(name, 'p50').toFixed(1)} ms, p99 ${of(name, 'p99').toFixed(1)} ms`;
  const rate = (label: string, name: string, atLeast?: number): Figure => ({
    label: `${label}, over bare node:http`,
    value: overBare(name),
    digits: 3,
    note: note(name),
    ...(atLeast === undefined ? {} : { target: { atLeast } }),
  });
  record({
    bench: 'throughput',
    about: `Answers a dashboard of account and ten channels with five items, all cached, over ${CONNECTIONS} connections to a server on one core. A bare node:http server reads the body and sends the same bytes; Yoga alone resolves them from an object at hand. Medians of ${ROUNDS} rounds by turns.`,
    figures: [
      {
        label: 'bare node:http',
        value: of('bare', 'perSecond'),
        unit: ' a second',
        note: note('bare'),
      },
      rate('Yoga alone', 'yoga'),
      rate('the same operation again, LOG_LEVEL=warn', 'same', 0.7),
      rate('the same operation again, LOG_LEVEL=info', 'told', 0.3),
      rate('an operation not seen before, three channels by variables', 'unseen', 0.1),
      rate('an operation not seen before, everything by variables', 'all unseen', 0.06),
      rate('a GET whose ETag still holds', 'etag'),
      { label: 'memory at rest', value: restMb, unit: ' MB', target: { atMost: 80 } },
      { label: 'memory after the load', value: loadedMb, unit: ' MB', target: { atMost: 120 } },
    ],
  });
});

async function run({ server, next, status = 200 }: Case, seconds: number): Promise<Outcome> {
  const before = server.cpuMs();
  const { answers, latencies, ...took } = await load({
    port: server.port,
    connections: CONNECTIONS,
    seconds,
    status,
    next,
  });
  return {
    perSecond: answers / took.seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    cpuMicros: ((server.cpuMs() - before) * 1000) / answers,
  };
}

function post(query: string, variables: object = {}): string {
  const body = JSON.stringify({ query, variables });
  return `POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function get(query: string, etag: string): string {
  const address = `/graphql?query=${encodeURIComponent(query)}`;
  return `GET ${address} HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\nif-none-match: ${etag}\r\n\r\n`;
}

/** Each time another three of the channels: no two requests of a run are alike. */
function unseen(query: string, ids: readonly string[], more: object = {}): () => string {
  let count = 0;
  return () => {
    count += 1;
    const [a, b, c] = [count, count / ids.length, count / ids.length ** 2].map(
      (n) => ids[Math.floor(n) % ids.length],
    );
    return post(query, { a, b, c, ...more });
  };
}

async function ask({ port }: Server, query: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  return response.text();
}

/** Ids of channels, and the ETag of the dashboard. */
async function prepare(server: Server): Promise<{ ids: string[]; etag: string }> {
  const list = JSON.parse(await ask(server, '{ channels(first: 100) { nodes { id } } }')) as {
    data: { channels: { nodes: { id: string }[] } };
  };
  const address = `http://127.0.0.1:${server.port}/graphql?query=${encodeURIComponent(DASHBOARD)}`;
  const response = await fetch(address, { headers: { accept: 'application/json' } });
  await response.text();
  return {
    ids: list.data.channels.nodes.map(({ id }) => id),
    etag: response.headers.get('etag') ?? '',
  };
}
