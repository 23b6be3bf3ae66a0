import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { World } from '../support/gateway.ts';
import { LiveViewer } from '../support/live-viewer.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { RedisServer } from '../support/redis-server.ts';
import { startReplicas } from '../support/replica-worlds.ts';

const CAMPAIGNS = 'query @live { campaigns(first: 100) { nodes { id databaseId name } } }';

interface Campaigns {
  readonly campaigns: {
    readonly nodes: readonly { readonly databaseId: number; readonly name: string }[];
  };
}

let sandbox: Sandbox;
let redis: RedisServer;
let worlds: World[] = [];

/** Whether there is all of it: a replica that has just begun may have to wait for its first turn. */
const hasData = ({ data, errors }: LiveViewer['document']): boolean =>
  data !== undefined && errors === undefined;

describeWith(redisServer, 'a live query on several replicas', () => {
  beforeAll(async () => {
    sandbox = await startSandbox({ limit: { requests: 1_000_000 } });
    redis = await RedisServer.run();
  });
  afterEach(async () => {
    LiveViewer.closeAll();
    await Promise.all(worlds.map((world) => world.close()));
    sandbox.reset();
  });
  afterAll(async () => {
    await sandbox.close();
    await redis.end();
  });

  /** Somebody who looks at it on each of three. */
  async function lookOnAll(): Promise<LiveViewer[]> {
    worlds = await startReplicas(3, redis, {
      on: sandbox,
      env: { PORT: '0', LINKS_RATE_WINDOW_MS: '2000' },
    });
    const all: LiveViewer[] = [];
    for (const { gateway } of worlds) {
      const { url } = await gateway.listen();
      const viewer = LiveViewer.open(url.replace('localhost', '127.0.0.1'), { query: CAMPAIGNS });
      all.push(await viewer.until(({ document }) => hasData(document)));
    }
    return all;
  }

  it('shows what is changed on any of them, on all of them, for one call', async () => {
    const all = await lookOnAll();
    const reads = (): number =>
      sandbox.links.requests.filter(({ path }) => path === '/api/campaigns').length;
    const before = reads();
    const [first] = all;
    for (const [n, world] of worlds.entries()) {
      const campaigns = first?.data as Campaigns | undefined;
      const databaseId = campaigns?.campaigns.nodes[n]?.databaseId;
      await world.data(
        `mutation { updateCampaign(input: { id: ${databaseId}, name: "of ${n}" }) { __typename } }`,
      );
      for (const viewer of all) {
        await viewer.until(
          ({ data }) => (data as Campaigns).campaigns.nodes[n]?.name === `of ${n}`,
        );
      }
    }
    expect(reads()).toBe(before + worlds.length);
    for (const { document } of all) expect(document).toEqual(first?.document);
  });
});
