import { setTimeout as pause } from 'node:timers/promises';
import { RedisServer } from '../../support/redis-server.ts';
import { RedisLink } from '../../support/replicas/redis-link.ts';
import { Replica } from '../../support/replicas/replica.ts';
import { settings, WINDOW_MS } from './times.ts';

const SIZE = 3;
/** The secret of the replicas. */
const SECRET = 'a-secret-that-all-the-replicas-know';

/** Three replicas with one Redis, each over a link of its own. */
export class Trio implements AsyncDisposable {
  readonly size = SIZE;
  readonly #redis: RedisServer;
  readonly #links: readonly RedisLink[];
  readonly #replicas: readonly Replica[];

  private constructor(
    redis: RedisServer,
    links: readonly RedisLink[],
    upstream: Parameters<typeof settings>[0],
  ) {
    this.#redis = redis;
    this.#links = links;
    this.#replicas = links.map(
      ({ port }) =>
        new Replica({
          ...settings(upstream),
          STATE_DIR: 'off',
          REDIS_URL: `redis://127.0.0.1:${port}`,
          REDIS_SECRET: SECRET,
        }),
    );
  }

  /** Starts them on an upstream; resolves when all listen. */
  static async start(upstream: Parameters<typeof settings>[0]): Promise<Trio> {
    const redis = await RedisServer.run();
    const links = await Promise.all(Array.from({ length: SIZE }, () => RedisLink.open(redis.port)));
    const trio = new Trio(redis, links, upstream);
    await Promise.all(trio.#replicas.map((replica) => replica.listens()));
    return trio;
  }

  /** @throws Error without such a replica. */
  replica(index: number): Replica {
    const replica = this.#replicas[index];
    if (!replica) throw new Error(`no replica ${index}`);
    return replica;
  }

  /** All that they have logged. */
  output(): string {
    return this.#replicas.map((replica) => replica.output()).join('\n');
  }

  /** The nth failure: Redis is emptied, one replica is cut off from it, or it is killed. Resolves when it is over. */
  async fail(nth: number, roll: (sides: number) => number): Promise<void> {
    const link = this.#links[roll(SIZE)];
    switch (nth % 4) {
      case 0:
        await this.#redis.command('FLUSHALL');
        return;
      case 1:
      case 3:
        link?.become(nth % 4 === 1 ? 'refused' : 'silent');
        await pause(roll(WINDOW_MS));
        link?.become('open');
        return;
      default:
        await this.#redis.kill();
        await pause(roll(WINDOW_MS));
        await this.#redis.start();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.end('SIGKILL')));
    await Promise.all(this.#links.map((link) => link[Symbol.asyncDispose]()));
    await this.#redis.end();
  }
}
