import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { EventStream } from '../../src/observe/event-stream.ts';
import {
  type ConnectionEvents,
  RedisConnection,
  type RedisConnectionOptions,
} from '../../src/redis/connection/connection.ts';
import { redisNames } from '../../src/redis/connection/names.ts';
import { script } from '../../src/redis/lua/scripts.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { RedisServer } from './redis-server.ts';

/** A script that can be counted: how often was it carried out? */
export const count = script('count', "return redis.call('INCR', KEYS[1])");

const leftovers: (() => Promise<unknown>)[] = [];

/** Ends what the other functions have opened, the last first; for `afterEach`. */
export async function clearUp(): Promise<void> {
  for (const clear of leftovers.splice(0).toReversed()) await clear();
}

/** Has something done by `clearUp`. */
export function later(clear: () => Promise<unknown>): void {
  leftovers.push(clear);
}

/** A Redis that takes commands. */
export async function redis(options?: Parameters<typeof RedisServer.run>[0]): Promise<RedisServer> {
  const server = await RedisServer.run(options);
  leftovers.push(() => server.end());
  return server;
}

/** A server that does with its connections as it is told. Resolves with its port. */
export async function serve(take: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    take(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  leftovers.push(async () => server.close());
  return (server.address() as AddressInfo).port;
}

/** A started connection, all that it reports, and a way to wait for it. */
export function connected(urls: readonly string[], options: Partial<RedisConnectionOptions> = {}) {
  const told: string[] = [];
  const observed: [string, boolean][] = [];
  const waiting = new Set<() => void>();
  const tell = (text: string): void => {
    told.push(text);
    for (const look of waiting) look();
  };
  const events: ConnectionEvents = {
    up: () => tell('up'),
    down: (reason) => tell(`down ${reason}`),
    message: (text) => tell(`message ${text}`),
    refused: (reason) => tell(`refused ${reason}`),
    denied: (permissions) => tell(`denied ${permissions.join(', ')}`),
  };
  const stream = new EventStream();
  stream.add({ roundTrip: ({ command, ok }) => observed.push([command, ok]) });
  const connection = new RedisConnection({
    urls,
    sentinelName: null,
    clock: systemClock,
    callMs: 2000,
    names: redisNames('test'),
    stream,
    events,
    ...options,
  });
  leftovers.push(() => connection.close());
  connection.start();
  /** Resolves when something that matches was told since the last call. */
  let seen = 0;
  const hears = (pattern: RegExp): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        const index = told.findIndex((text, at) => at >= seen && pattern.test(text));
        if (index < 0) return;
        seen = index + 1;
        waiting.delete(look);
        resolve(told[index] ?? '');
      };
      waiting.add(look);
      look();
    });
  return { connection, told, observed, hears };
}
