import { describe, expect, it } from 'vitest';
import { Stage } from './story.ts';

const stage = new Stage();

const ivy = 'username: "ivy.moss", email: "ivy@moss.example", password: "s3cret"';
const body = { username: 'ivy.moss', email: 'ivy@moss.example', password: 's3cret' };
const creating = `createUser(input: { ${ivy} })`;

describe('Mutation.createUser', () => {
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

  it('is no matter for a form when the key is not an administrator’s', async () => {
    const world = await stage.open({ env: { LINKS_API_KEY: stage.sandbox.links.keys.pro } });
    const { data, errors } = await stage.change(creating, 'User { databaseId }', world);
    expect(data).toEqual({ result: null });
    expect(errors[0]?.extensions).toMatchObject({ code: 'UPSTREAM_FORBIDDEN' });
  });
});
