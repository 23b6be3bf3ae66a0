import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/scheduling/clock.ts';
import { ModelAccounts } from '../series/model-accounts.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { GATEWAY, type Running, start } from '../support/process.ts';
import { RedisServer } from '../support/redis-server.ts';
import { rememberForAnHour } from '../support/replica-worlds.ts';

interface Codes {
  readonly qrCodes: object | null;
}

let model: ModelAccounts;
let redis: RedisServer;
let folder: string;
const running: Running[] = [];

async function begin(stateDir = folder) {
  const process = start(globalThis.process.execPath, GATEWAY, {
    cwd: '.',
    env: {
      ...model.env,
      LINKS_RATE_LIMIT: '500',
      MARKET_RATE_LIMIT: '500',
      'ttl.qrCodes': '0',
      CACHE_MAX_BYTES: '1',
      STALE_IF_ERROR_MS: '0',
      MAX_WAIT_MS: '60000',
      PORT: '0',
      REDIS_URL: redis.url,
      REDIS_SECRET: 'a-secret-that-all-the-replicas-know',
      STATE_DIR: stateDir,
    },
  });
  running.push(process);
  const [, address = ''] = await process.says(/(http:\/\/localhost:\d+)\/graphql/);
  await rememberForAnHour(redis, 'gateway');
  const data = async <D>(query: string): Promise<D> => {
    const response = await fetch(`${address}/graphql?query=${encodeURIComponent(query)}`);
    return ((await response.json()) as { data: D }).data;
  };
  return {
    ...process,
    async read(count: number): Promise<void> {
      model.qrCodes = Array.from({ length: count }, (_, index) => ({ id: index + 1, count }));
      // Nothing is sent before it has learnt how long Redis has remembered.
      while (!(await data<Codes>('{ qrCodes { totalCount } }')).qrCodes) await pause(50);
    },
    async length(): Promise<number | null | undefined> {
      const query = '{ totalCountHistory(list: QR_CODES, step: HOUR, last: 1) { value } }';
      const shown = await data<{ totalCountHistory: { value: number | null }[] }>(query);
      return shown.totalCountHistory.at(-1)?.value;
    },
  };
}

describeWith(redisServer, 'the history of counts of several processes', () => {
  beforeEach(async () => {
    model = await ModelAccounts.start(systemClock);
    redis = await RedisServer.run();
    folder = mkdtempSync(join(tmpdir(), 'shared-'));
  });
  afterEach(async () => {
    for (const each of running.splice(0)) {
      each.child.kill('SIGKILL');
      await each.ended;
    }
    await redis.end();
    await model[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  it('is written by one and shown by all, and another one writes when that is killed', async () => {
    const first = await begin();
    const second = await begin();
    await first.read(3);
    expect(await first.length()).toBe(3);
    while ((await second.length()) !== 3) await pause(50);
    // What it reads is not recorded: the first one writes.
    await second.read(4);
    expect(await second.length()).toBe(3);
    first.child.kill('SIGKILL');
    await first.ended;
    for (let count = 5; (await second.length()) === 3; count += 1) {
      await second.read(count);
      await pause(50);
    }
    const last = await second.length();
    const third = await begin();
    expect(await third.length()).toBe(last);
    for (const { output } of running) expect(output()).not.toMatch(/history of counts|counts\./);
  });

  it('is of each process in a folder that cannot be written, with one line in the log', async () => {
    writeFileSync(join(folder, 'file'), '');
    const first = await begin(join(folder, 'file', 'state'));
    await first.read(3);
    expect(await first.length()).toBe(3);
    expect(first.output().match(/in memory only, by each process for itself/g)).toHaveLength(1);
  });
});
