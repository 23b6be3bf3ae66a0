import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { redisNames } from '../../src/redis/connection/names.ts';
import { scripts as all, script } from '../../src/redis/lua/scripts.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { clearUp, connected, redis } from '../support/redis-connection.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { type Actor, DOCUMENT, scriptStage } from '../support/script-stage.ts';

afterEach(clearUp);

/** The commands that the page about replicas has allowed. */
const rule = /^user gateway on >PASSWORD (.*)$/m.exec(
  readFileSync('docs/replicas.md', 'utf8'),
)?.[1];
const allowed = [...(rule ?? '').matchAll(/\+([a-z|]+)/g)].map(([, name = '']) => name);
/** What only a connection needs that is being made, a Sentinel, or a probe. */
const ofConnecting = ['hello', 'ping', 'role', 'client|setname', 'unsubscribe'];
/** What is sent beside scripts. */
const ofConnections = ['evalsha', 'eval', 'mget', 'set', 'subscribe'];
const ofScripts = allowed.filter((name) => ![...ofConnecting, ...ofConnections].includes(name));

const { keys } = redisNames('gateway');
const text = script('text', 'return ARGV[1]');

/** Everything that a Redis holds, as bytes. */
async function contents(server: RedisServer): Promise<unknown[]> {
  return Promise.all(keys.map((key) => server.command('DUMP', key)));
}

/** Each script, with something to do for every branch that changes anything. */
const scripts: readonly (readonly [string, (actor: Actor) => Promise<unknown>])[] = [
  ['beat', (actor) => actor.beat(1)],
  [
    'swap',
    (actor) =>
      actor.swap({
        text: 'next',
        bid: 'waits',
        bidMs: 1000,
        intents: { add: { next: { ms: 1000, tags: ['t'] } }, drop: ['first'] },
        messages: [{ text: '{"kind":"ended"}', always: true }],
      }),
  ],
  ['discard', (actor) => actor.call(all.discard, [JSON.stringify({ name: DOCUMENT })])],
  ['touched', (actor) => actor.touched(['t', 'u'], 'first')],
  ['claim', (actor) => actor.claim('key', 'a.1', { max: 1 })],
  ['put', (actor) => actor.put([{ name: 'key', token: 'a.1', sent: 3, text: 'done' }], 1)],
  ['lock', (actor) => actor.lock('row', 'a.2')],
  ['unlock', (actor) => actor.unlock('row', 'a.1')],
  ['goodbye', (actor) => actor.goodbye()],
];

describeWith(redisServer, 'a script whose user lacks a permission', () => {
  it.each(ofScripts)(
    'changes nothing at all without %s, and loses nothing by that',
    async (name) => {
      const stage = await scriptStage();
      const { server } = stage;
      const [a, b] = [stage.actor('a'), stage.actor('b')];
      for (const actor of [a, b]) await actor.beat();
      await stage.age();
      await a.swap();
      await a.swap({ text: 'one', intents: { add: { first: { ms: 1, tags: ['t'] } } } });
      await a.touched(['u']);
      await a.claim('key', 'a.1');
      await a.lock('row', 'a.1');
      const before = await contents(server);
      const { length } = stage.messages();
      await server.command('ACL', 'SETUSER', 'default', `-${name}`);
      for (const [, run] of scripts) {
        await expect(run(a)).rejects.toThrow(`NOPERM this user may not ${name}`);
      }
      expect(await contents(server)).toEqual(before);
      await server.command('ACL', 'SETUSER', 'default', `+${name}`);
      // The intent of the write stands: the replica that beats first reports it.
      expect((await b.beat(1)).tags).toEqual(['t', '2']);
      expect(stage.messages().slice(length)).toContainEqual(
        expect.objectContaining({ kind: 'touch', n: 2, tags: ['t'] }),
      );
    },
  );
});

describeWith(redisServer, 'a script that fails in its middle', () => {
  it('has changed nothing: what it found is no set of tags, and is forgotten', async () => {
    const stage = await scriptStage();
    const { server } = stage;
    const a = stage.actor('a');
    let epoch = '';
    for (const run of [() => a.touched(['t'], 'w'), () => a.beat()]) {
      await a.beat();
      ({ epoch } = a);
      await server.command('SET', keys[1], 'no set');
      await expect(run()).rejects.toThrow('could not be read');
      expect(await contents(server)).toEqual([null, null]);
    }
    await a.beat();
    expect(a.epoch).not.toBe(epoch);
  });
});

describeWith(redisServer, 'a connection whose user lacks a permission', () => {
  const { keys: own, entry } = redisNames('test');

  it('reports each missing one, and when it is granted', async () => {
    const server = await redis();
    await Promise.all(
      [...ofConnections, ...ofScripts].map(async (name) => {
        const rights = ['~*', '&*', '+@all', `-${name}`];
        await server.command('ACL', 'SETUSER', name, 'on', '>secret', ...rights);
        const { hears, told } = connected([server.url.replace('://', `://${name}:secret@`)]);
        expect(await hears(/^denied /)).toMatch(new RegExp(`^denied ${name}( \\S+)?$`));
        await server.command('ACL', 'SETUSER', name, `+${name}`);
        await hears(/^denied $/);
        if (name === 'subscribe') await hears(/^up$/);
        expect(told).toContain('up');
      }),
    );
  });

  it.each([
    [
      'mget',
      'a read',
      async (c: ReturnType<typeof connected>) => c.connection.read(['{test:1}:e:a']),
    ],
    [
      'set',
      'a write',
      async (c: ReturnType<typeof connected>) =>
        c.connection.write('{test:1}:e:a', Buffer.of(1), 1000),
    ],
    [
      'evalsha',
      'a script',
      async (c: ReturnType<typeof connected>) => c.connection.run(text, ['a']),
    ],
  ])('that loses %s hears of it with %s without a waiting caller', async (name, _, does) => {
    const server = await redis();
    const all = connected([server.url]);
    await all.hears(/^up$/);
    await server.command('ACL', 'SETUSER', 'default', `-${name}`);
    void does(all).catch(() => {});
    expect(await all.hears(/^refused /)).toContain('NOPERM');
    expect(await all.hears(/^denied /)).toMatch(new RegExp(`^denied ${name}`));
  });

  it('names all that it lacks at once, and a prefix that is not its own', async () => {
    const server = await redis();
    await server.command('ACL', 'SETUSER', 'default', '-hdel', '-zadd', '-set');
    const { hears } = connected([server.url]);
    expect(await hears(/^denied /)).toBe(
      `denied set ${entry('name')}, hdel ${own[0]}, zadd ${own[1]}`,
    );
  });
});
