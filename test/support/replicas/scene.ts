import { createDice } from '../../soak/load.ts';
import { RedisServer } from '../redis-server.ts';
import { Cluster, type ClusterOptions, WINDOW_MS } from './cluster.ts';
import type { QuotaOptions } from './quota.ts';
import { type UpstreamRequest, VersionedUpstream } from './upstream.ts';
import { fullestWindow } from './window.ts';

/** How a scene differs from three replicas over an upstream that says nothing and one Redis. */
export interface SceneOptions
  extends Partial<Pick<ClusterOptions, 'replicas' | 'env' | 'envOf' | 'headers'>> {
  readonly seed?: number;
  readonly quota?: QuotaOptions;
  /** Whether Redis writes down what it holds. */
  readonly appendOnly?: boolean;
  /** Whether a second Redis follows the first. */
  readonly follower?: boolean;
}

/** Replicas, their upstream and their Redis, all at a test's mercy. */
export class Scene implements AsyncDisposable {
  readonly upstream: VersionedUpstream;
  readonly cluster: Cluster;
  /** Numbers that look random. */
  readonly roll: (sides: number) => number;
  /** The Redis that the replicas are led to. */
  redis: RedisServer;
  /** The one that follows it. */
  follower: RedisServer | null;

  private constructor(
    upstream: VersionedUpstream,
    cluster: Cluster,
    redis: RedisServer,
    follower: RedisServer | null,
    seed: number,
  ) {
    this.upstream = upstream;
    this.cluster = cluster;
    this.redis = redis;
    this.follower = follower;
    this.roll = createDice(seed);
  }

  /** Starts everything; resolves when each replica has had an answer from the upstream. */
  static async set(options: SceneOptions = {}): Promise<Scene> {
    const { seed = 1, quota, appendOnly = false, follower: followed, ...rest } = options;
    const upstream = await VersionedUpstream.start(quota);
    const redis = await RedisServer.run({ appendOnly });
    const follower = followed ? await RedisServer.run() : null;
    await follower?.command('REPLICAOF', '127.0.0.1', String(redis.port));
    const cluster = await Cluster.start({
      replicas: 3,
      upstream,
      redisPort: redis.port,
      ...rest,
    });
    const scene = new Scene(upstream, cluster, redis, follower, seed);
    // Answers that come at once and in order would hide every race.
    upstream.conduct.delays = scene.usualDelays;
    await cluster.sends();
    return scene;
  }

  /** What the upstream takes when nothing is wrong with it. */
  readonly usualDelays = (): readonly [number, number] => [this.roll(40), this.roll(40)];

  /** One of the replicas. */
  readonly anyReplica = (): number => this.roll(this.cluster.replicas.length);

  /** For the reader of a failure: what happened when, who came in the fullest window, and what was said. */
  readonly story = (requests: readonly UpstreamRequest[], events: readonly string[] = []): string =>
    [
      ...events,
      ...fullestWindow(requests, WINDOW_MS).map(
        ({ at, endedAt, method, path, status }) =>
          `${at.toFixed(0)} .. ${endedAt.toFixed(0)} ${method} ${path} ${status}`,
      ),
      ...this.cluster.replicas.map(
        (replica, index) => `replica ${index}:\n${telling(replica.output())}`,
      ),
    ].join('\n');

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
    await this.upstream[Symbol.asyncDispose]();
    await this.redis.end();
    await this.follower?.end();
  }
}

/** The end of a log without the lines about operations that went well. */
function telling(log: string): string {
  const lines = log.split('\n').filter((line) => !line.includes('"msg":"operation"'));
  return lines.slice(-30).join('\n');
}
