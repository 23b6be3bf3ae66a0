import { beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/gateway.ts';
import { account } from './rest.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});

const fields = 'databaseId email username avatar status expires registered';

describe('Query.account', () => {
  it('answers every field of the account whose key the gateway uses', async () => {
    const { data } = await world.links('/api/account');
    expect(await world.data(`{ account { ${fields} } }`)).toEqual({ account: account(data) });
  });

  it('is found again by its global id', async () => {
    const { account: own } = await world.data<{ account: { id: string } }>('{ account { id } }');
    const { data } = await world.links('/api/account');
    const { node } = await world.data(
      `query ($id: ID!) { node(id: $id) { __typename id ... on Account { ${fields} } } }`,
      { id: own.id },
    );
    expect(node).toEqual({ __typename: 'Account', id: own.id, ...account(data) });
  });
});
