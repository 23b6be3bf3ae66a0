import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { it } from 'vitest';
import { type Running, start } from '../support/process.ts';
import { percentile, record } from './report/measurement.ts';

const MB = 1_000_000;
const LARGE = 500 * MB;
/** Uploads of each, by turns, and how large they are. */
const PAIRS = 5;
const EACH = 200 * MB;
const SAMPLE_EVERY_MS = 20;

/** Takes any body, forgets it, and answers as the link API does. */
const sink = `
import { createServer } from 'node:http';
const server = createServer((request, response) => {
  request.resume().on('end', () => response.end('{"error":0,"id":1,"shorturl":"http://localhost/f/a"}'));
}).listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port));
`;

/** The least that can pass an upload on: what any gateway pays. */
const barePipe = `
import { createServer, request as ask } from 'node:http';
const server = createServer((request, response) => {
  const { 'content-length': length } = request.headers;
  const onward = ask(process.env.UPSTREAM, { method: 'POST', headers: { 'content-length': length } });
  onward.on('response', (answer) => answer.pipe(response));
  request.pipe(onward);
}).listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port));
`;

it('passes 500 MB on in little memory, and about as fast as a bare pipe', async () => {
  const programs = new Programs();
  try {
    const sandbox = await programs.sandbox();
    const gateway = await programs.gateway(sandbox.url, sandbox.key);
    const growth = await growthOf(gateway.pid, () => upload(gateway.url, LARGE));

    const upstream = await programs.text('bench-sink.mjs', sink, {});
    const bare = await programs.text('bench-pipe.mjs', barePipe, { UPSTREAM: upstream.url });
    const bareGrowth = await growthOf(bare.pid, () => upload(bare.url, LARGE));
    const { url } = await programs.gateway(upstream.url, 'unused');
    await upload(url, LARGE);
    const bares: number[] = [];
    const gateways: number[] = [];
    // By turns, so that whatever else the machine does weighs on both alike.
    for (let pair = 0; pair < PAIRS; pair += 1) {
      bares.push(await upload(bare.url, EACH));
      gateways.push(await upload(url, EACH));
    }
    const ratios = bares.map((ms, pair) => ms / (gateways[pair] ?? Number.NaN));
    const speed = (times: readonly number[]) => Math.round(EACH / 1000 / percentile(times, 0.5));
    record({
      bench: 'upload',
      about:
        'Uploads 500 MB by PUT to the built gateway on a sandbox of its own process, then smaller files by turns to a gateway and to a bare node:http pipe on an upstream that only reads.',
      figures: [
        {
          label: 'growth of the gateway while 500 MB pass',
          value: growth / MB,
          unit: ' MB',
          target: { atMost: 64 },
          note: `a bare node:http pipe grows by ${Math.round(bareGrowth / MB)} MB`,
        },
        {
          label: 'throughput of an upload, over that of a bare node:http pipe',
          value: percentile(ratios, 0.5),
          digits: 2,
          target: { atLeast: 0.5 },
          note: `${speed(gateways)} MB/s over ${speed(bares)} MB/s, medians of ${PAIRS} pairs of ${EACH / MB} MB`,
        },
      ],
    });
  } finally {
    await programs.end();
  }
});

/** Something that listens, in a process of its own. */
interface Program {
  readonly url: string;
  readonly pid: number;
}

/** What this bench has started, and will end. */
class Programs {
  readonly #running: Running[] = [];
  readonly #files: string[] = [];

  async sandbox(): Promise<{ readonly url: string; readonly key: string }> {
    const env = { SANDBOX_LINKS_PORT: '0', SANDBOX_MARKET_PORT: '0' };
    const introduction = /API {2}(http:\S+)\n {2}admin key {2}(\S+)/;
    const { said } = await this.#start(join('dist', 'sandbox', 'main.js'), env, introduction);
    return { url: said[1] ?? '', key: said[2] ?? '' };
  }

  /** A gateway on a link API; `url` is where a file goes. */
  async gateway(baseUrl: string, key: string): Promise<Program> {
    const env = {
      NODE_ENV: 'production',
      PORT: '0',
      LINKS_BASE_URL: baseUrl,
      LINKS_API_KEY: key,
      AUTH_MODE: 'none',
      STATE_DIR: 'off',
    };
    const address = /(http:\/\/[^\s"]+)\/graphql/;
    const { said, pid } = await this.#start(join('dist', 'main.js'), env, address);
    return { url: `${said[1]}/files/large.bin`, pid };
  }

  /** A program that first says its address, given as text. */
  async text(
    name: string,
    program: string,
    env: Readonly<Record<string, string>>,
  ): Promise<Program> {
    const file = join('dist', name);
    writeFileSync(file, program);
    this.#files.push(file);
    const { said, pid } = await this.#start(file, env, /(http:\S+)/);
    return { url: said[1] ?? '', pid };
  }

  async end(): Promise<void> {
    for (const { child, ended } of this.#running) {
      child.kill('SIGKILL');
      await ended;
    }
    for (const file of this.#files) rmSync(file);
  }

  async #start(
    file: string,
    env: Readonly<Record<string, string>>,
    introduction: RegExp,
  ): Promise<{ said: readonly string[]; pid: number }> {
    const program = start(process.execPath, [file], { cwd: '.', env });
    this.#running.push(program);
    return { said: await program.says(introduction), pid: program.child.pid ?? 0 };
  }
}

/** Milliseconds that an upload of so many bytes takes. */
async function upload(url: string, bytes: number): Promise<number> {
  const piece = Buffer.alloc(64 * 1024, 'uploaded');
  const startedAt = performance.now();
  const sent = request(url, { method: 'PUT', headers: { 'content-length': bytes } });
  const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
  });
  const pieces = function* (): Generator<Buffer> {
    for (let rest = bytes; rest > 0; rest -= piece.length) yield piece.subarray(0, rest);
  };
  const [{ status, body }] = await Promise.all([answered, pipeline(Readable.from(pieces()), sent)]);
  if (status >= 300) throw new Error(`${url} answered ${status} ${body}`);
  return performance.now() - startedAt;
}

/** Bytes by which a process is larger at most, during some work, than before it. */
async function growthOf(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = residentBytes(pid);
  let most = before;
  const sampling = setInterval(() => {
    most = Math.max(most, residentBytes(pid));
  }, SAMPLE_EVERY_MS);
  await work().finally(() => clearInterval(sampling));
  return most - before;
}

function residentBytes(pid: number): number {
  const status = `/proc/${pid}/status`;
  const kilobytes = existsSync(status)
    ? /^VmRSS:\s*(\d+) kB/m.exec(readFileSync(status, 'utf8'))?.[1]
    : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  return Number(kilobytes) * 1024;
}
