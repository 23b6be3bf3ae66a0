import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { type Row, startWorld, type World } from '../support/gateway.ts';
import { upload } from '../support/uploads.ts';
import { createDice } from './load.ts';

const operations = Number(process.env['ANSWERS_OPERATIONS'] ?? 150);
const seed = Number(process.env['ANSWERS_SEED'] ?? Date.now() % 1_000_000);

/** How one request is answered. */
interface Behaviour {
  /** Whether the API does what it is asked for. */
  readonly makes: boolean;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the body of the API. */
  readonly body?: (text: string) => string | Buffer;
  /** Only for writes: a read would be understood differently. */
  readonly forWrites?: boolean;
}

const NOW = { 'retry-after': '0' };
const notice = '<br />\n<b>Notice</b>:  x in <b>/var/www/api.php</b> on line <b>7</b><br />\n';
const said = (body: object) => () => JSON.stringify(body);

const behaviours: readonly Behaviour[] = [
  ...['{}', '{"message":"Server Error"}', '{"error":null}', '{"error":""}', '{"error":[]}'].flatMap(
    (text) => [true, false].map((makes) => ({ makes, forWrites: true, body: () => text })),
  ),
  { makes: false, body: said({ success: false, message: 'No' }) },
  {
    makes: false,
    headers: NOW,
    body: said({ error: 1, message: 'Rate limit reached', msg: 'Rate limit reached' }),
  },
  {
    makes: false,
    body: said({
      error: 1,
      message: 'Too many requests',
      msg: 'Too many requests',
      retry_after: 0,
    }),
  },
  { makes: false, status: 403, headers: NOW, body: () => '<html>' },
  { makes: false, body: said({ error: { code: 429 }, retry_after: 0 }) },
  { makes: false, body: said({ status: 429, retry_after: 0 }) },
  ...[400, 404, 405, 411, 413, 421, 501, 301, 307, 308].flatMap((status) =>
    ['<html>', ''].map((text) => ({ makes: false, status, body: () => text })),
  ),
  ...[302, 303, 500, 502, 504].flatMap((status) =>
    [true, false].map((makes) => ({ makes, status, body: () => '<html>' })),
  ),
  ...[true, false].map((makes) => ({ makes, status: 503, headers: NOW, body: () => '<html>' })),
  { makes: true, body: (text) => `${notice}${text}` },
  { makes: true, body: (text) => `\uFEFF${text}<!-- 0.1 s -->` },
  { makes: true, headers: { 'content-encoding': 'gzip' }, body: (text) => gzipSync(text) },
  { makes: true, headers: { 'content-encoding': 'br' }, body: (text) => brotliCompressSync(text) },
  { makes: true, status: 204, forWrites: true, body: () => '' },
  ...[
    (page: Row, rows: number) => ({ ...page, result: rows }),
    (page: Row, rows: number) => ({ ...page, result: rows, maxpage: undefined }),
    (page: Row) => ({ ...page, maxpage: undefined }),
    (page: Row) => ({ ...page, maxpage: undefined, result: undefined }),
    (page: Row) => ({ ...page, nextpage: page['currentpage'] }),
    (page: Row) => ({ ...page, nextpage: 1 }),
    (page: Row) => ({ ...page, nextpage: null }),
    (page: Row) => ({ ...page, nextpage: undefined, maxpage: undefined, result: undefined }),
  ].map((change) => ({ makes: true, body: (text: string) => paged(text, change) })),
  { makes: true, body: (text) => text.replace(/:"(\d+)"/g, (_, count) => `:" ${count}.0 "`) },
];

/** The body of a list with other paging members; any other body as it is. */
function paged(text: string, change: (page: Row, rows: number) => Row): string {
  const whole = JSON.parse(text) as Row;
  const isInside = typeof whole['data'] === 'object';
  const page = (isInside ? whole['data'] : whole) as Row | null;
  if (page?.['maxpage'] === undefined) return text;
  const rows = Object.values(page).find((value) => Array.isArray(value)) as Row[];
  const changed = change(page, rows.length);
  return JSON.stringify(isInside ? { ...whole, data: changed } : changed);
}

/** A server in front of an API that picks a behaviour for each request. */
async function inFrontOf(target: string, roll: (sides: number) => number) {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { method = 'GET', url = '' } = request;
    const isWrite = method !== 'GET' && !url.includes('validation');
    const all = behaviours.filter(({ forWrites }) => isWrite || !forWrites);
    const picked = roll(3) === 0 ? { makes: true } : all[roll(all.length)];
    const { body = (text: string) => text, headers = {}, makes, status } = picked as Behaviour;
    const made =
      makes &&
      (await fetch(`${target}${url}`, {
        method,
        headers: {
          'content-type': request.headers['content-type'] ?? '',
          authorization: request.headers.authorization ?? '',
          connection: 'close',
        },
        ...(method === 'GET' ? {} : { body: Buffer.concat(pieces) }),
      }));
    const text = made ? await made.text() : '';
    response.writeHead(status ?? (made ? made.status : 200), headers).end(body(text));
  };
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.closeAllConnections(),
    stop: () => server.close(),
  };
}

/** A row by its id, and by its name if it was given here. */
const identity = ({ id, name }: Row): string =>
  `${String(id)} ${/^n\d/.test(String(name)) ? String(name) : ''}`;

/** The rows of a list of the API itself, whole. */
async function rows(world: World, path: string, key: string): Promise<Row[]> {
  const all: Row[] = [];
  for (let page = 1; all.length === (page - 1) * 100; page += 1) {
    const answer = await world.links(`${path}?limit=100&page=${page}`);
    const data = (answer['data'] as Row | undefined) ?? answer;
    const more = data[key] as Row[];
    if (more.length === 0) break;
    all.push(...more);
  }
  return all;
}

it(
  `tells of ${operations} operations only what happened`,
  async () => {
    const roll = createDice(seed);
    const wrong: string[] = [];
    const outcomes: Record<string, number> = {};
    const own = await startWorld();
    const links = await inFrontOf(own.sandbox.links.url, roll);
    const market = await inFrontOf(own.sandbox.market.url, roll);
    const world = await startWorld({
      on: own.sandbox,
      env: {
        LINKS_BASE_URL: links.url,
        MARKET_BASE_URL: market.url,
        PORT: '0',
        LINKS_PAGE_SIZE: '10',
        MAX_WAIT_MS: '3000',
        // The longest pause is three windows.
        LINKS_RATE_WINDOW_MS: '100',
        MARKET_RATE_WINDOW_MS: '100',
        // No caller waits until the effect of a lost write is looked for.
        writeSettleMs: '20000',
      },
    });
    const { url } = await world.gateway.listen();
    const names = async () =>
      (await rows(own, '/api/channels', 'channels')).map((row) => row['name']);
    const [known] = (await rows(own, '/api/channels', 'channels')) as { id: number }[];
    const [code] = (await rows(own, '/api/qr', 'qrs')) as { id: number }[];
    const note = (what: string, code: string): void => {
      outcomes[code] = (outcomes[code] ?? 0) + 1;
      if (code === 'INTERNAL_SERVER_ERROR') wrong.push(`${what}: ${code}`);
    };
    const write = async (what: string, isMade: () => Promise<boolean>, headers = {}) => {
      const { data, errors } = await world.ask<{ result: Row } | null>(
        `mutation { result: ${what} { __typename } }`,
        {},
        headers,
      );
      const code = errors[0]?.extensions?.code ?? String(data?.result['__typename']);
      note(what, code);
      if (code === 'OUTCOME_UNKNOWN') return;
      const says = errors.length === 0 && code !== 'Rejected';
      if ((await isMade()) !== says) wrong.push(`${what}: ${code}, but made: ${!says}`);
    };
    try {
      for (let count = 0; count < operations; count += 1) {
        const name = `n${count}`;
        const hasName = async () => (await names()).includes(name);
        const kind = roll(9);
        if (kind === 0) await write(`createChannel(input: { name: "${name}" })`, hasName);
        else if (kind === 1) {
          const headers = { 'idempotency-key': `"${name}"` };
          await write(`createChannel(input: { name: "${name}" })`, hasName, headers);
        } else if (kind === 2) {
          await write(`updateChannel(input: { id: ${known?.id}, name: "${name}" })`, hasName);
        } else if (kind === 3) {
          const all = (await rows(own, '/api/qr', 'qrs')) as { id: number }[];
          const id = all[roll(all.length)]?.id ?? 0;
          const isGone = async () =>
            (await rows(own, '/api/qr', 'qrs')).every((row) => row['id'] !== id);
          await write(`deleteQrCode(id: ${id})`, isGone);
        } else if (kind === 4) {
          const { errors, status } = await upload(url, `/files/${name}.txt`, 'bytes');
          const code = errors?.[0]?.extensions?.code ?? 'File';
          note('upload', code);
          const isThere = (await rows(own, '/api/files', 'list')).some((row) =>
            String(row['name']).startsWith(`${name}.`),
          );
          const says = status === 201;
          if (code !== 'OUTCOME_UNKNOWN' && isThere !== says)
            wrong.push(`upload: ${code}, but ${isThere}`);
        } else if (kind === 5) {
          const { data, errors } = await world.ask('{ seller { username } }');
          note('seller', errors[0]?.extensions?.code ?? 'right');
          if (errors.length === 0) expect(data).toEqual({ seller: { username: 'larkspurfinch' } });
        } else if (kind === 6) {
          const { data, errors, receipt } = await world.ask<{ qrCode: { statistics: Row } | null }>(
            `{ qrCode(id: ${code?.id}) { statistics { clicks topCountries { label count } } } }`,
          );
          note('statistics', errors[0]?.extensions?.code ?? 'right');
          if (errors.length > 0 || receipt.stale > 0) continue;
          const { data: truth } = await own.links(`/api/qr/${code?.id}`);
          const { clicks = null, topCountries = {} } = (truth as Row | undefined) ?? {};
          const tops = Object.entries(topCountries as Row);
          const counts = tops.map(([label, count]) => ({ label, count: Number(count) }));
          const right = clicks === null ? null : { statistics: { clicks, topCountries: counts } };
          expect(data.qrCode).toEqual(right);
        } else {
          const { data, errors, receipt } = await world.ask<{
            channels: { nodes: Row[]; totalCount: number | null };
          }>('{ channels(first: 500) { nodes { id: databaseId name } totalCount } }');
          note('channels', errors[0]?.extensions?.code ?? 'right');
          if (errors.length > 0 || receipt.stale > 0) continue;
          const truth = (await rows(own, '/api/channels', 'channels')).map(identity);
          const shown = data.channels.nodes.map(identity);
          const isRight = [...shown].sort().join() === [...truth].sort().join();
          if (!isRight) wrong.push(`channels: ${shown.length} instead of ${truth.length}`);
        }
      }
      console.info(`answers, ANSWERS_SEED=${seed}: ${JSON.stringify(outcomes)}`);
      const made = await names();
      const twice = made.filter(
        (name, at) => /^n\d/.test(String(name)) && made.indexOf(name) !== at,
      );
      expect({ wrong, twice }, `ANSWERS_SEED=${seed}`).toEqual({ wrong: [], twice: [] });
      expect(outcomes['right'], JSON.stringify(outcomes)).toBeGreaterThan(operations / 20);
    } finally {
      await world.close();
      for (const each of [links, market]) {
        each.stop();
        each.close();
      }
      await own.close();
    }
  },
  operations * 1000,
);
