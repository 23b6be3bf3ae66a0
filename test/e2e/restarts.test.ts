import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { GATEWAY, type Running, start } from '../support/process.ts';

/** The upstream's key, which no file of the gateway may hold. */
const KEY = 'an-api-key';
/** Requests that a window allows. */
const LIMIT = 10;
/** Longer than a start takes, so that what the process before has spent still counts. */
const WINDOW_MS = 3000;

/** An upstream that notes when each request came in, and may say what it thinks of its limit. */
async function upstream(tellsLimit: boolean) {
  const arrivals: number[] = [];
  const server = createServer((_request, response) => {
    const now = performance.now();
    arrivals.push(now);
    const window = Math.floor(now / WINDOW_MS);
    const spent = arrivals.filter((each) => Math.floor(each / WINDOW_MS) === window).length;
    if (tellsLimit) {
      response.setHeader('x-ratelimit-limit', LIMIT);
      response.setHeader('x-ratelimit-remaining', Math.max(0, LIMIT - spent));
      response.setHeader('x-ratelimit-reset', Math.ceil((WINDOW_MS - (now % WINDOW_MS)) / 1000));
    }
    response.setHeader('content-type', 'application/json');
    setTimeout(() => response.end('{"error":0,"data":{"id":1}}'), Math.random() * 100);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { arrivals, server, url };
}

/** The built gateway with a limit that is soon spent, on a folder that outlives it. */
function gateway(url: string, folder: string): Running {
  return start(process.execPath, GATEWAY, {
    cwd: '.',
    env: {
      PORT: '0',
      AUTH_MODE: 'none',
      LINKS_BASE_URL: url,
      LINKS_API_KEY: KEY,
      LINKS_RATE_LIMIT: String(LIMIT),
      LINKS_RATE_WINDOW_MS: String(WINDOW_MS),
      LINKS_TIMEOUT_MS: '500',
      MAX_WAIT_MS: '60000',
      STATE_DIR: join(folder, 'state'),
    },
  });
}

/** Asks for more than a window has, each question for another request. */
async function press(running: Running, from: number): Promise<void> {
  const [, address = ''] = await running.says(/(http:\/\/localhost:\d+)\/graphql/);
  for (let id = from; id < from + 3 * LIMIT; id += 1) {
    // The process ends before it has answered all.
    fetch(`${address}/graphql?query={user(id:"${id}"){email}}`).catch(() => {});
  }
}

/** The most requests that came in within any interval of one window. */
function most(arrivals: readonly number[]): number {
  return Math.max(
    ...arrivals.map((from) => arrivals.filter((at) => at >= from && at < from + WINDOW_MS).length),
  );
}

/** What a gateway that was killed again and again has done. */
interface Restarted {
  /** The most requests that came in within any interval of one window. */
  readonly most: number;
  readonly requests: number;
  /** All that it left on disk. */
  readonly left: string;
}

/** Starts the built gateway, presses it for requests and kills it at a random moment, again and again. */
async function restart(restarts: number, tellsLimit: boolean): Promise<Restarted> {
  const { arrivals, server, url } = await upstream(tellsLimit);
  const folder = mkdtempSync(join(tmpdir(), 'restarts-'));
  for (let round = 0; round < restarts; round += 1) {
    const running = gateway(url, folder);
    const before = arrivals.length;
    await press(running, 1 + round * 100);
    // Each of them gets its turn: none keeps the limit by staying silent.
    while (arrivals.length === before) await pause(20);
    await pause(Math.random() * (round % 2 === 0 ? 400 : 1.2 * WINDOW_MS));
    running.child.kill('SIGKILL');
    await running.ended;
  }
  server.close();
  const files = readdirSync(join(folder, 'state', 'store'), { withFileTypes: true });
  const left = files
    .filter((each) => each.isFile())
    .map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'))
    .join();
  rmSync(folder, { recursive: true });
  return { most: most(arrivals), requests: arrivals.length, left };
}

/** `RESTARTS=200` for the long form. */
const restarts = Number(process.env['RESTARTS'] ?? 3);

describe.concurrent('A process that is killed and started again', () => {
  it.each([
    ['says nothing of its limit', false],
    ['tells what is left in windows of its own', true],
  ])(
    'spends no more than the limit where the upstream %s',
    async (_, tells) => {
      const { most, left } = await restart(restarts, tells);
      expect(left).not.toContain(KEY);
      expect(left).toContain('slot/');
      expect(most).toBeLessThanOrEqual(LIMIT);
    },
    3_600_000,
  );
});
