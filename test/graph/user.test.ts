import { beforeAll, describe, expect, it } from 'vitest';
import { type Row, startWorld, type World } from '../support/gateway.ts';
import { account, plain } from './rest.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});

const fields = `databaseId email username avatar status expires registered
  planId plan { __typename databaseId name }`;

async function everyUser(query = ''): Promise<Row[]> {
  const [users, plans] = await Promise.all([
    world.links<{ data: Row[] }>(`/api/users${query}`),
    world.links<{ data: Row[] }>('/api/plans'),
  ]);
  return users.data.map((row) => {
    const plan = plans.data.find(({ id }) => id === row['planid']);
    return {
      ...account(row),
      planId: row['planid'],
      plan: plan && { __typename: 'Plan', databaseId: plan['id'], name: plain(plan['name']) },
    };
  });
}

describe('Query.users', () => {
  it('answers every field of every user, the plan included', async () => {
    const users = await everyUser();
    expect(users.length).toBeGreaterThan(10);
    expect(await world.data(`{ users { ${fields} } }`)).toEqual({ users });
  });

  it.each(['ADMIN', 'FREE', 'PRO'])('answers only users of the kind %s', async (filter) => {
    const users = await everyUser(`?filter=${filter.toLowerCase()}`);
    expect(users.length).toBeGreaterThan(0);
    const query = `query ($filter: UserFilter) { users(filter: $filter) { ${fields} } }`;
    expect(await world.data(query, { filter })).toEqual({ users });
  });

  it('answers only users that the upstream finds for an address', async () => {
    const users = await everyUser('?email=posteo.net');
    expect(users.length).toBeGreaterThan(1);
    const query = `query ($email: String) { users(email: $email) { ${fields} } }`;
    expect(await world.data(query, { email: ' posteo.net ' })).toEqual({ users });
  });

  it('joins kind and address', async () => {
    const users = await everyUser('?filter=pro&email=posteo.net');
    expect(users.length).toBeGreaterThan(0);
    const query = `{ users(filter: PRO, email: "posteo.net") { ${fields} } }`;
    expect(await world.data(query)).toEqual({ users });
  });

  it('answers an empty list when no user is found', async () => {
    expect(await world.data('{ users(email: "nobody@nowhere") { id } }')).toEqual({ users: [] });
  });
});

describe('Query.user', () => {
  it('finds a user by the upstream’s integer, by the global id, and as a node', async () => {
    const [, second] = await everyUser();
    const { user } = await world.data<{ user: { id: string } }>(
      `query ($id: ID!) { user(id: $id) { id ${fields} } }`,
      { id: String(second?.['databaseId']) },
    );
    expect(user).toEqual({ id: user.id, ...second });
    const again = `query ($id: ID!) {
      user(id: $id) { id ${fields} }
      node(id: $id) { id ... on User { ${fields} } }
    }`;
    expect(await world.data(again, { id: user.id })).toEqual({ user, node: user });
  });
});
