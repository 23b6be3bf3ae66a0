import { describe, expect, it } from 'vitest';
import type { Row } from '../../support/gateway.ts';
import { Stage } from './story.ts';

const stage = new Stage();

/** A user of the sandbox who is on the plan that costs nothing. */
const USER = 32;
const path = `/api/plan/3/user/${USER}`;
const subscribing = `subscribeUser(input: { planId: "3", userId: "${USER}", type: YEARLY })`;

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
});
