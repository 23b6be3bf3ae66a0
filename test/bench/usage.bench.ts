import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { it } from 'vitest';
import { formatTokenFile } from '../../src/auth/token-file.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { DayUsage } from '../../src/usage/day-usage.ts';
import type { UsageGroup } from '../../src/usage/usage-report.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';
import { RedisServer } from '../support/redis-server.ts';
import { record } from './report/measurement.ts';

const KILLS = 50;
const CALLERS = ['web', 'app', 'crawler'] as const;
/** Requests per minute: high enough that requests are under way at each kill. */
const LIMIT = 3000;
const MANY_CALLERS = 10_000;

it('usage', async () => {
  const alone = await storm(1, null);
  const redis = await RedisServer.run();
  const replicas = await storm(2, redis);
  await redis.end();
  const mib = memoryOf(MANY_CALLERS) / 2 ** 20;
  const figures = (label: string, mostLost: number, { counted, kills, received }: Storm) => [
    {
      label: `${label}: requests in the usage, less those that the API received`,
      value: counted - received,
      // A kill can come between the line of a request and its first byte, which are written right after each other.
      target: { atMost: 2 },
      note: `${counted} and ${received}, ${kills} kills`,
    },
    {
      label: `${label}: requests that the API received, less those in the usage`,
      value: received - counted,
      target: { atMost: mostLost },
    },
  ];
  record({
    bench: 'usage',
    about: `The built gateway is killed ${KILLS} times by SIGKILL while ${CALLERS.length} callers send reads that are not cached, and is started again each time; then its usage is compared with the log of the API. The same with two replicas on one Redis, of which one at random is killed; their API allows 30 requests a second.`,
    figures: [
      ...figures('one process', 0, alone),
      // A kill can come between a request and the command that counts it: both are written in one turn of the event loop.
      ...figures('two replicas', KILLS, replicas),
      {
        label: `memory for the usage of ${MANY_CALLERS} callers on a day`,
        value: mib,
        unit: ' MiB',
        digits: 2,
        target: { atMost: 2 },
      },
    ],
  });
});

interface Storm {
  readonly counted: number;
  readonly received: number;
  readonly kills: number;
}

/** Kills gateways under load, and compares what they have counted with what the API has received. */
async function storm(count: number, redis: RedisServer | null): Promise<Storm> {
  const sandbox = await startSandbox({ limit: { requests: 1_000_000 } });
  const folder = mkdtempSync(join(tmpdir(), 'usage-'));
  const tokens = [...CALLERS, 'boss'].map((name) => {
    return { name, role: 'admin' as const, sha256: hash('sha256', name) };
  });
  writeFileSync(join(folder, 'tokens.json'), formatTokenFile(tokens));
  const ports = Array.from({ length: count }, () => '0');
  const launch = async (at: number): Promise<Running> => {
    const running = start(process.execPath, GATEWAY, {
      cwd: new URL('../..', import.meta.url).pathname,
      env: environment(sandbox, folder, ports[at] ?? '0', redis),
    });
    ports[at] = (await running.says(/http:\/\/localhost:(\d+)\/graphql/))[1] ?? '';
    return running;
  };
  const running = await Promise.all(ports.map((_, at) => launch(at)));
  const over = new AbortController();
  let number = 0;
  const load = async (caller: string, at: number): Promise<void> => {
    while (!over.signal.aborted) {
      number += 1;
      const query = `query Search { files(search: "${caller} ${number}", first: 1) { totalCount } }`;
      await post(ports[at] ?? '', query, caller).catch(() => sleep(5));
    }
  };
  const loads = CALLERS.flatMap((caller) =>
    ports.map((_, at) => [load(caller, at), load(caller, at)]),
  );
  for (let kill = 0; kill < KILLS; kill += 1) {
    await sleep(100 + Math.random() * 400);
    const at = Math.floor(Math.random() * count);
    running[at]?.child.kill('SIGKILL');
    await running[at]?.ended;
    running[at] = await launch(at);
  }
  over.abort();
  await Promise.all(loads.flat());
  await sleep(1000);
  const { groups } = await usageOf(ports[0] ?? '');
  for (const each of running) each.child.kill();
  await Promise.all(running.map(({ ended }) => ended));
  await sandbox.close();
  rmSync(folder, { recursive: true });
  return {
    counted: groups.reduce((sum, { calls }) => sum + calls, 0),
    received: sandbox.links.requests.length,
    kills: KILLS,
  };
}

function environment(
  { links }: Sandbox,
  folder: string,
  port: string,
  redis: RedisServer | null,
): Record<string, string> {
  return {
    PORT: port,
    AUTH_MODE: 'token',
    AUTH_TOKENS_FILE: join(folder, 'tokens.json'),
    STATE_DIR: redis ? 'off' : join(folder, 'state'),
    LINKS_BASE_URL: links.url,
    LINKS_API_KEY: links.key,
    LINKS_RATE_LIMIT: String(LIMIT),
    LINKS_TIMEOUT_MS: '1000',
    ...(redis && { REDIS_URL: redis.url, REDIS_SECRET: 'a-secret-that-all-the-replicas-know' }),
    ...(redis && { LINKS_RATE_WINDOW_MS: '1000', LINKS_RATE_LIMIT: '30' }),
  };
}

async function post(port: string, query: string, caller: string): Promise<void> {
  const response = await fetch(`http://localhost:${port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${caller}` },
    body: JSON.stringify({ query }),
  });
  const { errors } = (await response.json()) as { errors?: readonly unknown[] };
  await sleep(errors ? 200 : 50);
}

async function usageOf(port: string): Promise<{ readonly groups: readonly UsageGroup[] }> {
  const response = await fetch(`http://localhost:${port}/console/usage.json?by=caller`, {
    headers: { authorization: 'Bearer boss' },
  });
  return (await response.json()) as { readonly groups: readonly UsageGroup[] };
}

/** Bytes of the heap that the usage of a day takes. */
function memoryOf(callers: number): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = (): number => {
    collect();
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  const usage = new DayUsage(0);
  for (let n = 0; n < callers; n += 1) {
    for (const resource of ['channels', 'qrCodes', 'account']) {
      const counts = { calls: 1 + (n % 7), saved: n };
      const names = {
        callerClass: 'default',
        caller: `caller ${n}`,
        operation: `Operation${n % 9}`,
      };
      usage.add({ upstream: 'LINKS', resource, ...names, ...counts });
    }
  }
  const bytes = used() - before;
  if (usage.rows.length === 0) throw new Error('nothing was counted');
  return bytes;
}
