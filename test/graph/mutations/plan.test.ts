import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { Stage } from './story.ts';

const stage = new Stage();

/** A user of the sandbox who is on the plan that costs nothing. */
const USER = 32;
const path = `/api/plan/3/user/${USER}`;
const subscribing = `subscribeUser(input: { planId: "3", userId: "${USER}", type: YEARLY })`;

const look = `{
  user(id: "${USER}") { status expires planId plan { name } }
  users { databaseId planId }
}`;

describe('Mutation.subscribeUser', () => {
  it('writes the expiration in the upstream’s zone', async () => {
    const world = await stage.open({ env: { LINKS_TIMEZONE: 'Asia/Kathmandu' } });
    const until = subscribing.replace('YEARLY', 'YEARLY, expiration: "2040-01-31T23:00:00Z"');
    const { result } = await stage.change(until, 'User { expires }', world);
    expect(stage.written[0]?.body).toEqual({ type: 'yearly', expiration: '2040-02-01 04:45:00' });
    expect(result.expires).toBe('2040-01-31T23:00:00Z');
    expect(await world.data(`{ user(id: "${USER}") { expires } }`)).toEqual({
      user: { expires: '2040-01-31T23:00:00Z' },
    });
  });

  it('takes global ids, and finds the plan among those that are kept', async () => {
    const { plans, user } = await stage.world.data<{ plans: { id: string }[]; user: Row }>(
      `{ plans { id } user(id: "${USER}") { id } }`,
    );
    const { result, calls } = await stage.change(
      `subscribeUser(input: {
        planId: "${plans[2]?.id}", userId: "${String(user['id'])}", type: MONTHLY
      })`,
      'User { id planId plan { name } }',
    );
    expect(result).toMatchObject({ id: user['id'], planId: 3 });
    expect(result.plan).toEqual({ name: 'Agency & Partners' });
    expect(calls).toEqual([`PUT ${path}`]);
  });

  it('reads what neither answer nor input says, in one call, only when it is selected', async () => {
    const { result, calls } = await stage.change(
      subscribing,
      'User { email status expires registered }',
    );
    expect(result).toMatchObject({ email: 'wren@wrenceramics.com', status: 'PRO' });
    expect(calls).toEqual([`PUT ${path}`, `GET /api/user/${USER}`]);
  });

  it('shows wherever the user was kept before', async () => {
    expect(await stage.world.data(look)).toMatchObject({ user: { planId: 1, expires: null } });
    await stage.change(subscribing, 'User { databaseId }');
    const after = await stage.world.data<{ users: Row[] }>(look);
    expect(after).toMatchObject({
      user: { status: 'PRO', planId: 3, plan: { name: 'Agency & Partners' } },
    });
    expect(after.users).toContainEqual({ databaseId: USER, planId: 3 });
  });

  it('shows in the account when it is that of the gateway’s own key', async () => {
    const { account } = await stage.world.data<{ account: Row }>('{ account { databaseId } }');
    await stage.change(
      `subscribeUser(input: {
        planId: 2, userId: "${String(account['databaseId'])}", type: YEARLY
        expiration: "2041-01-01T00:00:00Z"
      })`,
      'User { databaseId }',
    );
    expect(await stage.world.data('{ account { expires } }')).toEqual({
      account: { expires: '2041-01-01T00:00:00Z' },
    });
  });
});
