import { expect, it } from 'vitest';
import type { Answer, Row, World } from '../support/gateway.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { type ReplicaStage, replicaStage } from '../support/replica-worlds.ts';
import { monitor, scriptsIn } from '../support/replicas/redis-insight.ts';

let stage: ReplicaStage;

const creation = (name: string) =>
  `mutation { createChannel(input: { name: "${name}" }) { ... on Channel { id name } } }`;

/** Asks a replica with a key. */
const ask = (world: World | undefined, key: string, query: string): Promise<Answer<Row>> => {
  if (!world) throw new Error('no such replica');
  return world.ask(query, {}, { 'idempotency-key': `"${key}"`, prefer: 'wait=60' });
};

/** Scripts of a mutation without a key: it gets its slot, has touched tags, and its slot is over. */
const UNKEYED = ['swap', 'addUsage', 'touched', 'swap'];

/** Sends a mutation, which succeeds. */
async function send(world: World, key: string | null, query: string): Promise<void> {
  const headers = key === null ? undefined : { 'idempotency-key': `"${key}"` };
  expect((await world.ask(query, {}, headers)).errors).toEqual([]);
}

/** The channels of this name that exist. */
async function channels(world: World | undefined, name: string): Promise<number> {
  const page = await world?.links<{ data: { channels: { name: string }[] } }>(
    '/api/channels?limit=1000&order=date',
  );
  return page?.data.channels.filter((channel) => channel.name === name).length ?? 0;
}

function outcomeOf({ text }: Answer<Row>): string | undefined {
  const { extensions = {} } = JSON.parse(text) as {
    readonly extensions?: { readonly idempotency?: readonly { readonly outcome: string }[] };
  };
  return extensions.idempotency?.[0]?.outcome;
}

describeWith(redisServer, 'a mutation with a key, on replicas', () => {
  stage = replicaStage();

  it('is 1 upstream request, however many callers send it at once, and to which replica', async () => {
    const worlds = await stage.start(3);
    worlds[0]?.forgetCalls();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => ask(worlds[n % 3], 'herd', creation('Herd'))),
    );
    expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
    expect(new Set(answers.map(({ data }) => JSON.stringify(data))).size).toBe(1);
    const outcomes = answers.map(outcomeOf);
    expect(outcomes.filter((outcome) => outcome === 'EXECUTED')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'REPLAYED')).toHaveLength(99);
    expect(worlds[0]?.calls().filter((call) => call.startsWith('POST'))).toHaveLength(1);
    expect(await channels(worlds[0], 'Herd')).toBe(1);
  });

  it('is answered by each of them with the same result, and refused with another content', async () => {
    const [a, b, c] = await stage.start(3);
    const first = await ask(a, 'again', creation('Again'));
    for (const world of [b, c, a]) {
      const next = await ask(world, 'again', creation('Again'));
      expect([next.data, outcomeOf(next)]).toEqual([first.data, 'REPLAYED']);
      const other = await ask(world, 'again', creation('Other'));
      expect(other.errors[0]?.extensions?.code).toBe('IDEMPOTENCY_KEY_REUSED');
    }
    expect(await channels(a, 'Other')).toBe(0);
  });

  it('whose response was lost is not sent again by another replica', async () => {
    const [a, b] = await stage.start(3, {
      env: { writeSettleMs: '0' },
    });
    const path = '/api/channel/add';
    stage.sandbox.links.fault({ kind: 'drop', applied: true, method: 'POST', path, times: 1 });
    const first = await ask(a, 'lost', creation('Lost'));
    const next = await ask(b, 'lost', creation('Lost'));
    for (const { data, errors } of [first, next]) {
      const [code = null] = errors.map(({ extensions }) => extensions?.code);
      expect(code === null ? Object.keys(data) : code).toEqual(
        code === null ? ['createChannel'] : 'OUTCOME_UNKNOWN',
      );
    }
    expect(await channels(a, 'Lost')).toBe(1);
  });

  it('takes one round trip more before it is sent than without a key, and none before its response', async () => {
    const [world] = await stage.start(1);
    if (!world) throw new Error('no replica');
    // Redis has loaded all scripts then, and the replica knows its data.
    for (const key of ['first', null]) await send(world, key, creation(`Loads ${key}`));
    await using heard = await monitor(stage.redis.port);
    const update = 'mutation { updateChannel(input: { id: "1", name: "Next" }) { __typename } }';
    const taken: (readonly string[])[] = [];
    for (const [key, query, expected] of [
      [null, creation('Plain'), UNKEYED],
      [null, update, UNKEYED],
      ['creation', creation('Keyed'), ['take', ...UNKEYED, 'unlock', 'put']],
      ['update', update, ['take', ...UNKEYED, 'put']],
      [null, update, UNKEYED],
    ] as const) {
      const { length } = taken.flat();
      await send(world, key, query);
      const since = () => scriptsIn(heard.lines()).slice(length);
      await expect.poll(() => since().length).toBeGreaterThanOrEqual(expected.length);
      taken.push(since());
      expect(since().slice(0, 2)).toEqual(expected.slice(0, 2));
      expect(since().toSorted()).toEqual(expected.toSorted());
    }
  });

  it('is as new on any replica when its request was refused for what it asks', async () => {
    const [a, b] = await stage.start(3);
    const invalid = 'mutation { createChannel(input: { name: "" }) { __typename } }';
    await ask(a, 'invalid', invalid);
    expect(outcomeOf(await ask(b, 'invalid', creation('Valid')))).toBe('EXECUTED');
  });
});
