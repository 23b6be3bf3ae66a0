import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { protocolTimes } from '../../src/redis/times.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Row, startWorld, type World } from '../support/gateway.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';
import { startReplicas } from '../support/replica-worlds.ts';

let sandbox: Sandbox;
let redis: RedisServer;
let ids = 1000;
/** The campaigns that they write, each its own. */
let own: readonly number[];

/** What the page about replicas allows, without what only a new connection or a new script needs. */
const rule = /^user gateway on >PASSWORD \S+ \S+ (.*)$/m.exec(
  readFileSync('docs/replicas.md', 'utf8'),
)?.[1];
const ofConnecting = /^\+(eval|hello|ping|role|client\|setname|unsubscribe|subscribe)$/;
const rights = (rule ?? '').split(' ');
const needed = rights.filter((right) => right.startsWith('+') && !ofConnecting.test(right));

/** A replica that may not beat is out within a test, and one that stood still is not. */
const times = { ...protocolTimes([100]), callMs: 1000, leaseMs: 2000, sendByMs: 1000 };

interface Degraded {
  readonly reason: string;
  readonly permissions?: readonly string[];
}

interface Campaigns {
  readonly campaigns: { readonly nodes: readonly Row[] } | null;
}

const campaigns = '{ campaigns(first: 500) { nodes { databaseId name } } }';
const rename = (id: number, name: string) =>
  `mutation { updateCampaign(input: { id: ${id}, name: "${name}" }) { __typename } }`;

describeWith(redisServer, 'replicas whose user of Redis loses a permission', () => {
  beforeAll(async () => {
    sandbox = await startSandbox({ limit: { requests: 1_000_000 } });
    redis = await RedisServer.run();
    const alone = await startWorld({ on: sandbox });
    const rows = needed.map(
      (_, n) =>
        `a${n}: createCampaign(input: { name: "row ${n}" }) { ... on Campaign { databaseId } }`,
    );
    const made = await alone.data<Record<string, { databaseId: number }>>(
      `mutation { ${rows.join(' ')} }`,
    );
    own = Object.values(made).map(({ databaseId }) => databaseId);
    await alone.close();
  });
  afterAll(async () => {
    await sandbox.close();
    await redis.end();
  });

  describe.concurrent('show nothing outdated, name it, and go on once they have it back:', () => {
    it.each(needed)('%s', async (right) => {
      const name = right.slice(1);
      const id = own[needed.indexOf(right)] ?? 0;
      const user = `user-${name}`;
      await redis.command('ACL', 'SETUSER', user, 'on', '>secret', '~*', '&*', ...rights);
      const logs: string[][] = [[], []];
      const url = redis.url.replace('://', `://${user}:secret@`);
      const worlds = await startReplicas(2, redis, {
        on: sandbox,
        logs,
        protocolTimes: times,
        env: { REDIS_URL: url, LOG_LEVEL: 'warn', MAX_WAIT_MS: '1000', PORT: '0' },
      });
      const [a, b] = worlds as [World, World];
      const urls = await Promise.all(
        worlds.map(async ({ gateway }) => (await gateway.listen()).url),
      );
      const degraded = async (): Promise<Degraded[][]> =>
        Promise.all(
          urls.map(async (each) => {
            const response = await fetch(new URL('/readyz', each));
            return ((await response.json()) as { degraded?: Degraded[] }).degraded ?? [];
          }),
        );
      const shown = async (world: World) => {
        const { data, receipt } = await world.ask<Campaigns>(campaigns);
        const row = data.campaigns?.nodes.find(({ databaseId }) => databaseId === id);
        return { name: row?.['name'], stale: receipt.stale };
      };
      for (const world of worlds) while ((await shown(world)).name === undefined) await pause(10);

      await redis.command('ACL', 'SETUSER', user, `-${name}`);
      const { errors } = await b.ask(rename(id, 'without'));
      const seen = await shown(a);
      const codes = errors.map(({ extensions }) => extensions?.code);
      expect(codes.filter((code) => code !== 'BUDGET_EXHAUSTED')).toEqual([]);
      // What is not marked as stale shows every write that has answered.
      if (codes.length === 0 && seen.stale === 0) expect(seen.name).toBe('without');
      const missing = (all: Degraded[][]) =>
        all.map((each) => each.find(({ reason }) => reason === 'redis-permissions')?.permissions);
      // A replica finds out when it needs it; whatever else is wrong is named as well.
      while (missing(await degraded()).includes(undefined)) {
        await Promise.all(worlds.map((world) => world.ask(`{ user(id: "${ids++}") { email } }`)));
        await pause(10);
      }
      for (const permissions of missing(await degraded())) {
        expect(permissions).toEqual([expect.stringMatching(new RegExp(`^${name}\\b`))]);
      }
      for (const log of logs) {
        expect(log.join('')).toMatch(
          new RegExp(`lacks permissions: ${name}[^,]*\\. Grant them with ACL SETUSER`),
        );
      }

      await redis.command('ACL', 'SETUSER', user, `+${name}`);
      while ((await degraded()).flat().length > 0) await pause(10);
      expect((await b.ask(rename(id, 'with'))).errors).toEqual([]);
      for (const world of worlds) expect(await shown(world)).toEqual({ name: 'with', stale: 0 });
      await Promise.all(worlds.map((world) => world.close()));
    });
  });
});
