import { once } from 'node:events';
import { connect } from 'node:net';
import { scripts } from '../../../src/redis/lua/scripts.ts';
import type { RedisServer } from '../redis-server.ts';

/** The hash that holds the budgets and what was granted of them. */
export const STATE = '{gateway:1}:state';

/** What replicas hold together, as far as tests look at it. */
export interface SharedState {
  /** Replicas that are known to live. */
  readonly alive: readonly string[];
  /** Replicas that have permits out for requests that have not ended, one for each permit. */
  readonly holders: readonly string[];
  /** Replicas that have a bid for a turn. */
  readonly bidders: readonly string[];
}

/** Reads what replicas hold together. */
export async function sharedState(redis: RedisServer): Promise<SharedState> {
  const flat = (await redis.command(
    'EVAL',
    "return redis.call('HGETALL', KEYS[1])",
    '1',
    STATE,
  )) as string[];
  const fields = flat.flatMap((name, index) =>
    index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as const] : [],
  );
  const held = fields
    .filter(([name]) => name.startsWith('b:'))
    // Before the document stand four numbers.
    .map(([, text]) => JSON.parse(text.replace(/^(\d+ ){4}/, '')) as { held: { owner: string }[] })
    .flatMap((budget) => budget.held);
  const lives = fields.find(([name]) => name === '@')?.[1];
  return {
    alive: Object.keys(JSON.parse(lives ?? '{}') as object),
    holders: held.map(({ owner }) => owner),
    bidders: fields.flatMap(([name]) =>
      name.startsWith('w:') ? (name.split(':').at(-1) ?? '') : [],
    ),
  };
}

/** Sets the clock of Redis, as scripts see it, this many milliseconds forward; back where that is negative. */
export async function setClock(redis: RedisServer, byMs: number): Promise<void> {
  const step = `
    local epoch = cjson.decode(redis.call('HGET', KEYS[1], '#') or 'null')
    if epoch == cjson.null then return end
    epoch.off = epoch.off + ARGV[1]
    redis.call('HSET', KEYS[1], '#', cjson.encode(epoch))`;
  await redis.command('EVAL', step, '1', STATE, String(byMs));
}

/** Everything that is said to a Redis, as Redis itself reports it. */
export interface Monitor extends AsyncDisposable {
  /** One line for each command so far, with its arguments, and for each that a script gave. */
  lines(): readonly string[];
}

/** Listens to all commands that a Redis gets from now on. */
export async function monitor(port: number): Promise<Monitor> {
  const socket = connect(port, '127.0.0.1');
  let said = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  socket.on('error', () => undefined);
  socket.write('MONITOR\r\n');
  await once(socket, 'data');
  return {
    lines: () => said.split('\r\n').slice(1, -1),
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await once(socket, 'close');
    },
  };
}

/** The names of the scripts that clients have run, in order, without heartbeats. */
export function scriptsIn(lines: readonly string[]): string[] {
  const names = new Map(Object.values(scripts).map(({ name, sha1 }) => [sha1, name]));
  return lines
    .flatMap((line) => names.get(/"EVALSHA" "(\w+)"/i.exec(line)?.[1] ?? '') ?? [])
    .filter((name) => name !== scripts.beat.name);
}

/** The kinds of commands that clients have sent: scripts by their digest, without those that scripts gave. */
export function kindsOf(lines: readonly string[]): string[] {
  return lines
    .filter((line) => !/\[\d+ lua\]/.test(line))
    .map((line) => /"EVALSHA" "\w+"|"\w+"/i.exec(line)?.[0].toLowerCase() ?? line);
}
