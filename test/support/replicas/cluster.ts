import { setTimeout as pause } from 'node:timers/promises';
import { RedisLink } from './redis-link.ts';
import { type Question, Replica, type ReplicaAnswer } from './replica.ts';
import { KEY, type VersionedUpstream } from './upstream.ts';

/** Requests that a window of the tests allows. */
export const LIMIT = 30;
/** The shortest window that the times of the replicas' protocol are in proportion to. */
export const WINDOW_MS = 2000;
/** How long an upstream request may take in the tests. */
export const TIMEOUT_MS = 1000;
/** How long nothing is sent when Redis has no memory: window, margin, last moment of sending, timeout. */
export const HOLD_MS = WINDOW_MS + 250 + 300 + TIMEOUT_MS;
/** What the replicas seal with. */
export const SECRET = 'a-secret-that-all-the-replicas-know';

/** What a cluster is made of. */
export interface ClusterOptions {
  readonly replicas: number;
  readonly upstream: VersionedUpstream;
  /** Port of the Redis that they share; `null` when each is by itself. */
  readonly redisPort: number | null;
  /** Settings beside those that compress time and name the upstream. */
  readonly env?: Readonly<Record<string, string>>;
  /** What every question carries. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Settings of one replica. */
  readonly envOf?: (index: number) => Readonly<Record<string, string>>;
}

/** Several built gateways over one upstream, each with a link of its own to one Redis. */
export class Cluster implements AsyncDisposable {
  readonly replicas: readonly Replica[];
  /** One for each replica; none without Redis. */
  readonly links: readonly RedisLink[];
  readonly upstream: VersionedUpstream;

  readonly #options: ClusterOptions;

  private constructor(
    options: ClusterOptions,
    replicas: readonly Replica[],
    links: readonly RedisLink[],
  ) {
    this.#options = options;
    this.upstream = options.upstream;
    this.replicas = replicas;
    this.links = links;
  }

  /** Starts them; resolves when all take traffic, which is not yet when they may send anything. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const { redisPort, envOf } = options;
    const indexes = Array.from({ length: options.replicas }, (_, index) => index);
    const links =
      redisPort === null ? [] : await Promise.all(indexes.map(() => RedisLink.open(redisPort)));
    const replicas = indexes.map(
      (index) => new Replica({ ...settings(options, links[index]), ...envOf?.(index) }),
    );
    const cluster = new Cluster(options, replicas, links);
    await Promise.all(replicas.map((replica) => replica.listens()));
    await Promise.all(replicas.map((_, index) => cluster.ready(index)));
    return cluster;
  }

  /**
   * Waits until a replica takes traffic.
   * @throws Error with its reasons, when it does not within a minute.
   */
  async ready(index: number): Promise<void> {
    const until = performance.now() + 60_000;
    for (;;) {
      const { status, body } = await this.replica(index).readiness();
      if (status === 200) return;
      if (performance.now() > until) throw new Error(`replica ${index}: ${JSON.stringify(body)}`);
      await pause(20);
    }
  }

  /**
   * Waits until every replica has had an answer from the upstream to a question of its own.
   * @throws Error with what a replica says, when it has none for a minute.
   */
  async sends(): Promise<void> {
    await Promise.all(
      this.replicas.map(async (_, index) => {
        const until = performance.now() + 60_000;
        for (let nth = 0; ; nth += 1) {
          const id = 900_000_000 + index * 100_000 + nth;
          const answer = await this.ask(index, { query: `{ user(id: "${id}") { email } }` });
          if (!answer.errors) return;
          if (performance.now() > until) {
            const output = this.replica(index).output().slice(-4000);
            throw new Error(`replica ${index}: ${JSON.stringify(answer)}\n${output}`);
          }
          await pause(50);
        }
      }),
    );
  }

  /** @throws Error when there is no such replica. */
  replica(index: number): Replica {
    const replica = this.replicas[index];
    if (!replica) throw new Error(`no replica ${index}`);
    return replica;
  }

  /** @throws Error when there is no such replica, or no Redis. */
  link(index: number): RedisLink {
    const link = this.links[index];
    if (!link) throw new Error(`no link ${index}`);
    return link;
  }

  /** @throws Error when the replica cannot be reached or does not answer in time. */
  ask(index: number, question: Question): Promise<ReplicaAnswer> {
    return this.replica(index).ask({ headers: this.#options.headers ?? {}, ...question });
  }

  /** One more, at the same Redis by the link of the first, that is not among the others. */
  stranger(env: Readonly<Record<string, string>>): Replica {
    return new Replica({ ...settings(this.#options, this.link(0)), ...env });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.end('SIGKILL')));
    await Promise.all(this.links.map((link) => link[Symbol.asyncDispose]()));
  }
}

function settings(
  { upstream, env }: ClusterOptions,
  link: RedisLink | undefined,
): Record<string, string> {
  return {
    PORT: '0',
    AUTH_MODE: 'none',
    STATE_DIR: 'off',
    LINKS_BASE_URL: upstream.url,
    LINKS_API_KEY: KEY,
    LINKS_RATE_LIMIT: String(LIMIT),
    LINKS_RATE_WINDOW_MS: String(WINDOW_MS),
    LINKS_TIMEOUT_MS: String(TIMEOUT_MS),
    MARKET_RATE_WINDOW_MS: String(WINDOW_MS),
    MARKET_TIMEOUT_MS: String(TIMEOUT_MS),
    MAX_WAIT_MS: '3000',
    ...(link && { REDIS_URL: `redis://127.0.0.1:${link.port}`, REDIS_SECRET: SECRET }),
    ...env,
  };
}
