import { describe, expect, it } from 'vitest';
import type { Row, World } from '../../support/gateway.ts';
import { Stage } from './story.ts';

const stage = new Stage();

const USER = 41;
const look = `{ user(id: "${USER}") { username apiKey } }`;

function exposing(): Promise<World> {
  return stage.open({ env: { EXPOSE_USER_API_KEYS: 'true' } });
}

describe('User.apiKey', () => {
  it('is forbidden unless the operator allows it, and spends no call', async () => {
    const { data, errors, text } = await stage.world.ask(look);
    expect(data).toEqual({ user: { username: expect.any(String), apiKey: null } });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      path: ['user', 'apiKey'],
      message: expect.stringContaining('EXPOSE_USER_API_KEYS=true'),
      extensions: { code: 'FORBIDDEN' },
    });
    expect(stage.world.calls()).toEqual([`GET /api/user/${USER}`]);
    const { data: row } = await stage.world.links<{ data: Row }>(`/api/user/${USER}`);
    expect(text).not.toContain(row['apikey']);
  });

  it('is forbidden on what a mutation answers too', async () => {
    const { errors, calls } = await stage.change(
      `subscribeUser(input: { planId: 2, userId: ${USER}, type: MONTHLY })`,
      'User { databaseId apiKey }',
    );
    expect(errors[0]?.extensions).toEqual({ code: 'FORBIDDEN' });
    expect(calls).toEqual([`PUT /api/plan/2/user/${USER}`]);
  });

  it('is read again each time when it is allowed, and never shared', async () => {
    const world = await exposing();
    const { data: row } = await world.links<{ data: Row }>(`/api/user/${USER}`);
    const read = () => world.data(`{ user(id: "${USER}") { apiKey } }`);
    const answers = await Promise.all([read(), read(), read()]);
    answers.push(await read());
    for (const answer of answers) expect(answer).toEqual({ user: { apiKey: row['apikey'] } });
    // One read of the user for all, and one of the key for each.
    expect(world.calls()).toEqual(Array.from({ length: 5 }, () => `GET /api/user/${USER}`));
  });

  it('costs one call for each user', async () => {
    const world = await exposing();
    const { data, receipt } = await world.ask<{ users: Row[] }>(
      '{ users(filter: ADMIN) { databaseId apiKey } }',
    );
    expect(data.users.length).toBeGreaterThan(1);
    expect(receipt.calls).toBe(data.users.length + 1);
    const { data: rows } = await world.links<{ data: Row[] }>('/api/users?filter=admin');
    expect(data.users).toEqual(rows.map(({ id, apikey }) => ({ databaseId: id, apiKey: apikey })));
  });

  it.each([
    ['has none', { id: USER, username: 'ann' }],
    ['hides it', { id: USER, username: 'ann', apikey: '' }],
    ['sends null', { id: USER, username: 'ann', apikey: null }],
  ])('is null when the upstream %s', async (_, user) => {
    const world = await exposing();
    stage.answer(`/api/user/${USER}`, { error: 0, data: user });
    expect(await world.data(look)).toEqual({ user: { username: 'ann', apiKey: null } });
  });

  it('fails by itself when it cannot be read, and is not tried again', async () => {
    const world = await exposing();
    await world.data(`{ user(id: "${USER}") { username } }`);
    world.forgetCalls();
    stage.sandbox.links.fault({ kind: 'drop', path: `/api/user/${USER}` });
    const { data, errors } = await world.ask(look);
    expect(data).toEqual({ user: { username: expect.any(String), apiKey: null } });
    expect(errors[0]?.extensions).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    expect(world.calls()).toEqual([`GET /api/user/${USER}`]);
  });
});
