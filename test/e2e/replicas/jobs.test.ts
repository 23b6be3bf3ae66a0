import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { createDice } from '../../soak/load.ts';
import { PLENTY } from '../../support/gateway.ts';
import { describeWith, redisServer } from '../../support/needs.ts';
import { RedisServer } from '../../support/redis-server.ts';
import { Cluster } from '../../support/replicas/cluster.ts';
import { VersionedUpstream } from '../../support/replicas/upstream.ts';

/** A job as these tests look at it. */
interface SeenJob {
  readonly id: string;
  readonly state: string;
  readonly rowsDone: number;
  readonly callsSpent: number;
  readonly url: string;
  readonly error: { readonly code: string } | null;
}

const JOB = 'id state rowsDone callsSpent url error { code }';
const NESTED = `{ channels { nodes { id name items(first: 100) { nodes {
  ... on LinkItem { id title } ... on QrItem { id title } ... on BioItem { id title }
} } } } }`;
const START =
  'mutation($query: String!) { startExport(input: {query: $query}) { ... on Job { id } } }';

/** Three replicas on one folder of jobs, one Redis and one sandbox. */
class Team implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly redis: RedisServer;
  readonly cluster: Cluster;
  readonly #upstream: VersionedUpstream;
  readonly #folder: string;

  private constructor(
    parts: Pick<Team, 'cluster' | 'redis' | 'sandbox'>,
    upstream: VersionedUpstream,
    folder: string,
  ) {
    this.sandbox = parts.sandbox;
    this.redis = parts.redis;
    this.cluster = parts.cluster;
    this.#upstream = upstream;
    this.#folder = folder;
  }

  /** The API answers each request after `delayMs`. */
  static async start(delayMs = 60): Promise<Team> {
    const sandbox = await startSandbox({ limit: { requests: PLENTY, resetFormat: 'none' } });
    sandbox.links.fault({ kind: 'slow', delayMs });
    const redis = await RedisServer.run();
    const upstream = await VersionedUpstream.start();
    const folder = mkdtempSync(join(tmpdir(), 'team-jobs-'));
    const cluster = await Cluster.start({
      replicas: 3,
      upstream,
      redisPort: redis.port,
      env: {
        LINKS_BASE_URL: sandbox.links.url,
        LINKS_API_KEY: sandbox.links.key,
        LINKS_RATE_LIMIT: '500',
        JOBS_DIR: folder,
      },
    });
    return new Team({ cluster, redis, sandbox }, upstream, folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
    await this.redis.end();
    await this.#upstream[Symbol.asyncDispose]();
    await this.sandbox.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Asks a replica. */
  async ask<D>(
    replica: number,
    query: string,
    variables: Record<string, unknown> = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<D> {
    const { data, errors } = await this.cluster.ask(replica, { query, variables, headers });
    if (errors) throw new Error(JSON.stringify(errors));
    return data as D;
  }

  async startExport(replica: number, headers: Readonly<Record<string, string>> = {}) {
    const answer = await this.ask<{ startExport: SeenJob }>(
      replica,
      START,
      { query: NESTED },
      headers,
    );
    return answer.startExport.id;
  }

  async job(replica: number, id: string): Promise<SeenJob> {
    const query = `query($id: ID!) { job(id: $id) { ${JOB} } }`;
    return (await this.ask<{ job: SeenJob }>(replica, query, { id })).job;
  }

  async turn(replica: number, field: string, id: string): Promise<string> {
    const query = `mutation($id: ID!) { ${field}(id: $id) { state } }`;
    const data = await this.ask<Record<string, { state: string }>>(replica, query, { id });
    return data[field]?.state ?? '';
  }

  async output(replica: number, { url }: SeenJob): Promise<Buffer> {
    const response = await fetch(`${this.cluster.replica(replica).url}${url}`);
    expect(response.status).toBe(200);
    return Buffer.from(await response.arrayBuffer());
  }

  /** Waits for a state of a job as a replica sees it. */
  async until(replica: number, id: string, isReached: (job: SeenJob) => boolean) {
    for (;;) {
      const job = await this.job(replica, id);
      if (isReached(job)) return job;
      if (job.error) throw new Error(JSON.stringify(job));
      await pause(20);
    }
  }

  /** The replica that has begun a run last, by its log; each begin is one line of it. */
  get runner(): number {
    const lines = this.cluster.replicas.flatMap((replica, index) =>
      replica
        .output()
        .split('\n')
        .filter((line) => line.includes('"message":"job"') || line.includes('"msg":"job"'))
        .map((line) => ({ index, ...(JSON.parse(line) as { time: string; state: string }) })),
    );
    const [last] = lines
      .filter(({ state }) => state === 'RUNNING')
      .sort((one, other) => (one.time < other.time ? 1 : -1));
    if (!last) throw new Error('no replica has run a job');
    return last.index;
  }

  /** Kills a replica, and starts it again. */
  async replace(index: number): Promise<void> {
    await this.cluster.replica(index).end('SIGKILL');
    await this.cluster.replica(index).begin();
    await this.cluster.ready(index);
  }
}

const isDone = ({ state }: SeenJob): boolean => state === 'DONE';

describeWith(redisServer, 'A job of several replicas', () => {
  describe.concurrent('', () => {
    it('is seen, downloaded, paused, continued and canceled on each of them', async () => {
      await using team = await Team.start(300);
      const id = await team.startExport(0);
      await team.until(1, id, ({ rowsDone }) => rowsDone > 3);
      expect(await team.turn(1, 'pauseJob', id)).toBe('PAUSED');
      const paused = await team.job(2, id);
      expect(paused.state).toBe('PAUSED');
      expect((await team.output(2, paused)).toString().split('\n').length).toBeGreaterThan(3);
      expect(await team.turn(2, 'resumeJob', id)).toMatch(/QUEUED|RUNNING/);
      await team.until(0, id, ({ rowsDone }) => rowsDone > paused.rowsDone);
      expect(await team.turn(0, 'cancelJob', id)).toBe('CANCELED');
      for (const replica of [0, 1, 2]) {
        expect((await team.job(replica, id)).state).toBe('CANCELED');
      }
    });

    it('is continued by another one when its replica ends, and its file is the same', async () => {
      await using team = await Team.start(120);
      const requests = () => team.sandbox.links.requests.length;
      const undisturbed = await team.startExport(0);
      const whole = await team.until(2, undisturbed, isDone);
      const calls = requests();
      const dice = createDice(1);
      const id = await team.startExport(1);
      let kills = 0;
      while (!isDone(await team.job(0, id)) && kills < 6) {
        await pause(dice(300));
        await team.replace(kills % 2 === 0 ? team.runner : dice(3));
        kills += 1;
      }
      const killed = await team.until(1, id, isDone);
      expect(kills).toBeGreaterThan(1);
      expect((await team.output(0, killed)).equals(await team.output(0, whole))).toBe(true);
      expect(requests() - calls).toBeLessThanOrEqual(calls + kills);
    });

    it('is handed over at once by a replica that is asked to end', async () => {
      await using team = await Team.start();
      const id = await team.startExport(0);
      await team.until(1, id, ({ rowsDone }) => rowsDone > 3);
      const calls = team.sandbox.links.requests.length;
      await team.cluster.replica(team.runner).end('SIGTERM');
      const job = await team.until(1, id, isDone).catch(() => team.until(2, id, isDone));
      expect(team.sandbox.links.requests.length).toBeGreaterThan(calls);
      // A request under way at the end is sent again.
      expect(team.sandbox.links.requests.length - job.callsSpent).toBeLessThanOrEqual(1);
    });

    it('waits without Redis, and continues after it', async () => {
      await using team = await Team.start();
      const id = await team.startExport(0);
      await team.until(1, id, ({ rowsDone }) => rowsDone > 3);
      team.redis.stop();
      await pause(2500);
      const calls = team.sandbox.links.requests.length;
      await pause(1500);
      expect(team.sandbox.links.requests.length).toBe(calls);
      team.redis.cont();
      const job = await team.until(1, id, isDone);
      expect((await team.output(2, job)).toString().trimEnd().split('\n')).toHaveLength(
        job.rowsDone,
      );
    });
  });
});
