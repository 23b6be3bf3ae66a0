import { beforeEach, expect, it } from 'vitest';
import type { Row, World } from '../../../support/gateway.ts';
import { describeWith, redisServer } from '../../../support/needs.ts';
import { type ReplicaStage, replicaStage } from '../../../support/replica-worlds.ts';

let stage: ReplicaStage;
let worlds: readonly [World, World, World];

const update = (input: string, expected?: string) => `mutation {
  updated: updateChannel(input: { id: 21, ${input} }${expected ? `, expected: { ${expected} }` : ''}) {
    __typename ... on Conflict { current { ... on Channel { name } } }
  }
}`;

/** Sends a mutation, which waits for others as long as necessary. */
async function ask(world: World, query: string): Promise<Row> {
  const { data, errors } = await world.ask<{ updated: Row }>(query, {}, { prefer: 'wait=60' });
  expect(errors).toEqual([]);
  return data.updated;
}

const names = () =>
  stage.sandbox.links.requests
    .filter(({ method }) => method === 'PUT')
    .map(({ body }) => (body as Row)['name']);

/** Waits until a request is held at the API. */
async function held(): Promise<void> {
  while (!stage.sandbox.links.requests.some(({ fault }) => fault === 'hold')) {
    await new Promise(setImmediate);
  }
}

function hold(method: string): () => void {
  let release = (): void => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  stage.sandbox.links.fault({ kind: 'hold', until, method, times: 1 });
  return release;
}

describeWith(redisServer, 'An update with `expected`, on replicas', () => {
  stage = replicaStage();
  beforeEach(async () => {
    worlds = (await stage.start(3)) as never;
  });

  it('makes updates on other replicas wait from its read to its response', async () => {
    const [a, b, c] = worlds;
    await ask(a, update('name: "A"'));
    a.forgetCalls();
    const readsOn = hold('GET');
    const first = ask(a, update('name: "B"', 'name: "A"'));
    await held();
    const plain = ask(b, update('name: "C"'));
    const third = ask(c, update('name: "D"', 'name: "B"'));
    // Both have asked for their turn when another request of each has its response.
    await Promise.all([b, c].map((world) => world.data('{ account { id } }')));
    expect(names()).toEqual([]);
    readsOn();
    expect(await first).toEqual({ __typename: 'Channel' });
    const results = await Promise.all([plain, third]);
    expect(results[0]).toEqual({ __typename: 'Channel' });
    const isThirdMade = results[1]['__typename'] === 'Channel';
    // They are not ordered among replicas.
    expect(names()).toEqual(isThirdMade ? ['B', 'D', 'C'] : ['B', 'C']);
    if (!isThirdMade) expect(results[1]['current']).toMatchObject({ name: 'C' });
  });

  it('compares after the plain updates of other replicas that are under way', async () => {
    const [a, b] = worlds;
    await ask(a, update('name: "A"'));
    // Both have it in their caches.
    await Promise.all([a, b].map((world) => world.data('{ channel(id: 21) { name } }')));
    a.forgetCalls();
    const writesOn = hold('PUT');
    const plain = ask(b, update('name: "B"'));
    await held();
    const second = ask(a, update('name: "C"', 'name: "A"'));
    await a.data('{ account { id } }');
    expect(names()).toEqual(['B']);
    writesOn();
    expect(await plain).toEqual({ __typename: 'Channel' });
    expect(await second).toMatchObject({ __typename: 'Conflict', current: { name: 'B' } });
    expect(names()).toEqual(['B']);
  });
});
