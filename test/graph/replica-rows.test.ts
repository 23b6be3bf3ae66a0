import { expect, it } from 'vitest';
import type { Row, World } from '../support/gateway.ts';
import { describeWith, redisServer } from '../support/needs.ts';
import { replicaStage } from '../support/replica-worlds.ts';
import { rounds } from '../support/rounds.ts';

/** The channel that these tests change. */
const CHANNEL = '21';
/** A number of concurrent increments. */
const MANY = 30;

const query = `{ channel(id: ${CHANNEL}) { description } }`;
const mutation = `mutation ($input: UpdateChannelInput!, $expected: ExpectedChannel) {
  updated: updateChannel(input: $input, expected: $expected) {
    __typename
    ... on Conflict { current { ... on Channel { description } } }
  }
}`;

interface Updated {
  readonly updated: { readonly __typename: string; readonly current?: Row };
}

async function update(world: World, input: Row, expected?: Row): Promise<Updated['updated']> {
  const variables = { input: { id: CHANNEL, ...input }, expected };
  const { data, errors } = await world.ask<Updated>(mutation, variables, { prefer: 'wait=60' });
  expect(errors).toEqual([]);
  return data.updated;
}

/** Adds 1 to the number in the description, as often as another was faster. */
async function increment(world: World): Promise<void> {
  const { channel } = await world.data<{ channel: Row }>(query);
  let before = String(channel['description']);
  for (;;) {
    const description = `visits: ${Number(before.split(' ')[1]) + 1}`;
    const { current } = await update(world, { description }, { description: before });
    if (!current) return;
    before = String(current['description']);
  }
}

describeWith(redisServer, 'a row, on replicas', () => {
  const stage = replicaStage();

  it(
    `is incremented ${MANY} times at once, beside other writes, and no increment is lost`,
    async () => {
      const worlds = await stage.start(3);
      const [first] = worlds as [World];
      await update(first, { description: 'visits: 0' });
      const on = (n: number): World => worlds[n % 3] as World;
      await Promise.all(
        Array.from({ length: MANY }, (_, n) => [
          increment(on(n)),
          ...(n % 5 === 0 ? [update(on(n + 1), { name: `Name ${n}` })] : []),
        ]).flat(),
      );
      for (const world of worlds) {
        expect(await world.data(query)).toEqual({ channel: { description: `visits: ${MANY}` } });
      }
    },
    rounds(120_000),
  );
});
