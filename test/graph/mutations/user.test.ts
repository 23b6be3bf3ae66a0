import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { behavesWhenDisturbed, noes, Stage, yeses } from './story.ts';

const stage = new Stage();

/** A user of the sandbox. */
const USER = 41;

const ivy = 'username: "ivy.moss", email: "ivy@moss.example", password: "s3cret"';
const body = { username: 'ivy.moss', email: 'ivy@moss.example', password: 's3cret' };
const creating = `createUser(input: { ${ivy} })`;
const deleting = `deleteUser(id: "${USER}")`;

interface Users {
  readonly users: readonly Row[];
}

describe('Mutation.createUser', () => {
  it('sends what was given in the upstream’s words, and costs one call', async () => {
    const { result, calls } = await stage.change(
      `createUser(input: {
        ${ivy}, planId: "2", expiration: "2040-07-01T00:30:00.5+02:00"
      })`,
      'User { databaseId email username planId expires }',
    );
    expect(calls).toEqual(['POST /api/user/add']);
    expect(stage.written).toEqual([
      {
        method: 'POST',
        path: '/api/user/add',
        body: { ...body, planid: 2, expiration: '2040-06-30 22:30:00' },
      },
    ]);
    expect(result).toEqual({
      __typename: 'User',
      databaseId: expect.any(Number),
      email: body.email,
      username: body.username,
      planId: 2,
      expires: '2040-06-30T22:30:00Z',
    });
  });

  it('writes the expiration in the upstream’s zone, and reads it back the same', async () => {
    const world = await stage.open({ env: { LINKS_TIMEZONE: 'America/New_York' } });
    const expiration = '2040-07-01T03:30:00Z';
    const { result } = await stage.change(
      `createUser(input: { ${ivy}, expiration: "${expiration}" })`,
      'User { databaseId expires }',
      world,
    );
    expect(stage.written.map(({ body: sent }) => sent)).toEqual([
      { ...body, expiration: '2040-06-30 23:30:00' },
    ]);
    expect(result.expires).toBe(expiration);
    const look = `{ user(id: "${String(result.databaseId)}") { expires } }`;
    expect(await world.data(look)).toEqual({ user: { expires: expiration } });
  });

  it('reads what neither answer nor input says, in one call, only when it is selected', async () => {
    const { result, calls } = await stage.change(
      creating,
      'User { databaseId status registered avatar expires planId plan { name } }',
    );
    const id = String(result.databaseId);
    expect(result).toMatchObject({ status: 'FREE', planId: 1, plan: { name: 'Starter' } });
    expect(result.registered).toMatch(/^\d{4}-.*Z$/);
    expect(calls).toEqual(['POST /api/user/add', `GET /api/user/${id}`, 'GET /api/plans']);
  });

  it('shows in lists that were kept before', async () => {
    const look = '{ users { username } pros: users(filter: PRO) { username } }';
    const before = await stage.world.data<Users & { pros: Row[] }>(look);
    await stage.change(`createUser(input: { ${ivy}, planId: 3 })`, 'User { id }');
    const after = await stage.world.data<Users & { pros: Row[] }>(look);
    expect(after.users).toHaveLength(before.users.length + 1);
    expect(after.pros).toContainEqual({ username: 'ivy.moss' });
  });

  it('shows under an id that was known to be absent', async () => {
    const { users } = await stage.world.data<Users>('{ users { databaseId } }');
    const id = Math.max(...users.map(({ databaseId }) => Number(databaseId))) + 1;
    const look = `{ user(id: "${id}") { username } }`;
    const world = await stage.open();
    expect(await world.data(look)).toEqual({ user: null });
    const { result } = await stage.change(creating, 'User { databaseId }', world);
    expect(result.databaseId).toBe(id);
    expect(await world.data(look)).toEqual({ user: { username: 'ivy.moss' } });
  });

  it('lists every fault of the input, and spends no call', async () => {
    const { result, calls } = await stage.change(
      `createUser(input: {
        username: "ivy moss", email: "ivy", password: "1234", planId: "-1"
        expiration: "2020-01-01T00:00:00Z"
      })`,
      'User { databaseId }',
    );
    expect(calls).toEqual([]);
    expect(result).toMatchObject({
      __typename: 'InvalidInput',
      issues: [
        { path: ['input', 'username'], message: expect.stringContaining('letters') },
        { path: ['input', 'email'], message: expect.stringContaining('email') },
        { path: ['input', 'password'], message: 'must have at least 5 characters.' },
        { path: ['input', 'planId'], message: expect.any(String) },
        { path: ['input', 'expiration'], message: 'must be in the future.' },
      ],
    });
  });

  it('wants more than two characters of a name', async () => {
    const { result } = await stage.change(creating.replace('ivy.moss', 'iv'), 'User { id }');
    expect(result.issues).toEqual([
      { path: ['input', 'username'], message: 'must have at least 3 characters.' },
    ]);
  });

  it.each(['2040-07-01', '2040-07-01 12:00:00', '2040-07-01T12:00:00', '2040-02-30T12:00:00Z', ''])(
    'does not guess what moment "%s" is',
    async (expiration) => {
      const asVariable = await stage.world.ask(
        'mutation ($input: CreateUserInput!) { createUser(input: $input) { __typename } }',
        { input: { ...body, expiration } },
      );
      expect(asVariable.errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT' });
      expect(asVariable.errors[0]?.message).toContain('a date and time with an offset');
      const asLiteral = await stage.world.ask(
        `mutation { createUser(input: { ${ivy}, expiration: "${expiration}" }) { __typename } }`,
      );
      expect(asLiteral.errors[0]?.extensions).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
      expect(asLiteral.errors[0]?.message).toContain('a date and time with an offset');
      expect(stage.world.calls()).toEqual([]);
    },
  );

  it('shows the upstream’s own refusal', async () => {
    const taken = creating.replace('ivy.moss', 'studio');
    const { result, calls } = await stage.change(taken, 'User { databaseId }');
    expect(calls).toHaveLength(1);
    expect(result).toEqual({
      __typename: 'Rejected',
      message: 'The username is already taken',
      upstream: 'LINKS',
    });
  });

  it('is no matter for a form when the key is not an administrator’s', async () => {
    const world = await stage.open({ env: { LINKS_API_KEY: stage.sandbox.links.keys.pro } });
    const { data, errors } = await stage.change(creating, 'User { databaseId }', world);
    expect(data).toEqual({ result: null });
    expect(errors[0]?.extensions).toMatchObject({ code: 'UPSTREAM_FORBIDDEN' });
  });

  const said = { id: 990, email: 'ivy@moss.example', username: 'Ivy &amp; Moss' };
  const { id: userid, ...rest } = said;
  it.each([
    ...yeses(said),
    ['with its id as `userid`', { error: 0, message: 'Done.', userid, ...rest }, 200],
    ['with its id as `userid` in text', { error: '0', userid: '990', data: rest }, 200],
  ] as [string, Row, number][])('understands a yes %s', async (_, answer, status) => {
    stage.answer('/api/user/add', answer, status);
    const { result, calls } = await stage.change(creating, 'User { databaseId email username }');
    expect(result).toEqual({
      __typename: 'User',
      databaseId: 990,
      email: body.email,
      username: 'Ivy & Moss',
    });
    expect(calls).toHaveLength(1);
  });

  it('believes the input where the answer says nothing but the id', async () => {
    stage.answer('/api/user/add', { error: 0, message: 'Done.', userid: 990 });
    const { result, calls } = await stage.change(creating, 'User { databaseId email username }');
    expect(result).toMatchObject({ databaseId: 990, email: body.email, username: body.username });
    expect(calls).toHaveLength(1);
  });

  it('does not take a yes without an id for more than it is', async () => {
    expect(await stage.world.data('{ user(id: "9000") { id } }')).toEqual({ user: null });
    stage.answer('/api/user/add', { error: 0, message: 'Done.' });
    const { errors } = await stage.change(creating, 'User { databaseId }');
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', check: 'Query.users' });
    stage.world.forgetCalls();
    // It may be the one that was made.
    await stage.world.data('{ user(id: "9000") { id } }');
    expect(stage.world.calls()).toEqual(['GET /api/user/9000']);
  });

  it.each(noes)('understands a no by `error` %s', async (_, answer, status, message) => {
    stage.answer('/api/user/add', answer, status);
    const { result } = await stage.change(creating, 'User { databaseId }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  behavesWhenDisturbed(stage, {
    mutation: creating,
    typename: 'User',
    wire: { method: 'POST', path: '/api/user/add', body },
    check: 'Query.users',
    look: '{ users { username } }',
    times: ({ users }: Users) => users.filter(({ username }) => username === body.username).length,
  });
});

describe('Mutation.deleteUser', () => {
  it('is one call, and the user is gone from everywhere', async () => {
    const look = `{ users { databaseId } user(id: "${USER}") { id } }`;
    const before = await stage.world.data<Users & { user: { id: string } }>(look);
    const { result, calls } = await stage.change(
      `deleteUser(id: "${before.user.id}")`,
      'Deleted { deletedId databaseId }',
    );
    expect(result).toEqual({
      __typename: 'Deleted',
      deletedId: before.user.id,
      databaseId: USER,
    });
    expect(calls).toEqual([`DELETE /api/user/${USER}/delete`]);
    expect(stage.written).toEqual([{ method: 'DELETE', path: `/api/user/${USER}/delete` }]);
    const after = await stage.world.data<Users>(
      look.replace(/^\{/, `{ node(id: "${before.user.id}") { id }`),
    );
    expect(after).toMatchObject({ node: null, user: null });
    expect(after.users).toHaveLength(before.users.length - 1);
  });

  it('finds a fault in an id that is none, and spends no call', async () => {
    const { result, calls } = await stage.change('deleteUser(id: "ann")', 'Deleted { deletedId }');
    expect(calls).toEqual([]);
    expect(result).toMatchObject({ __typename: 'InvalidInput', issues: [{ path: ['id'] }] });
  });

  it('shows the upstream’s own refusal', async () => {
    const { result } = await stage.change('deleteUser(id: "12")', 'Deleted { deletedId }');
    expect(result).toEqual({
      __typename: 'Rejected',
      message: 'You cannot delete your own account',
      upstream: 'LINKS',
    });
  });

  it.each(noes)('understands a no by `error` %s', async (_, answer, status, message) => {
    stage.answer(`/api/user/${USER}/delete`, answer, status);
    const { result } = await stage.change(deleting, 'Deleted { deletedId }');
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });

  behavesWhenDisturbed(stage, {
    mutation: deleting,
    typename: 'Deleted',
    wire: { method: 'DELETE', path: `/api/user/${USER}/delete` },
    check: 'Query.user',
    look: `{ user(id: "${USER}") { id } }`,
    times: ({ user }: Row) => (user === null ? 1 : 0),
  });
});
