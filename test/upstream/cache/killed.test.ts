import { expect, it, onTestFinished } from 'vitest';
import { type Member, openHousehold } from '../../support/two-processes.ts';

const ROUNDS = 4;
const NAME = 'query ($id: ID!) { channel(id: $id) { name } }';
const RENAME =
  'mutation ($id: ID!, $name: String!) { updateChannel(input: { id: $id, name: $name }) { ... on Channel { name } } }';

async function ask({ url }: Member, query: string, variables: object): Promise<unknown> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const { data } = (await response.json()) as { readonly data: unknown };
  return data;
}

it('serves no state from before an answered write after a kill', async () => {
  const house = await openHousehold();
  onTestFinished(() => house.close());
  let owner = await house.join();
  const { channels } = (await ask(owner, '{ channels(first: 1) { nodes { id } } }', {})) as {
    readonly channels: { readonly nodes: readonly [{ readonly id: string }] };
  };
  const [{ id }] = channels.nodes;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const name = `Renamed ${round}`;
    await ask(owner, NAME, { id });
    expect(await ask(owner, RENAME, { id, name })).toEqual({ updateChannel: { name } });
    await owner.kill();
    owner = await house.join();
    expect(await ask(owner, NAME, { id })).toEqual({ channel: { name } });
  }
}, 60_000);
