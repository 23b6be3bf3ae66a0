import { beforeAll, describe, expect, it } from 'vitest';
import { type Row, startWorld, type World } from '../support/gateway.ts';
import { plain } from './rest.ts';

interface RestPlan {
  readonly id: number;
  readonly name: string;
  readonly free: boolean;
  readonly prices: Row | null;
  readonly limits: Readonly<
    Record<string, number | { readonly enabled: string; readonly count?: string }>
  >;
}

const features =
  'custom team splash overlay pixels domain multiple alias device geo bundle parameters export api'.split(
    ' ',
  );

let world: World;
let plans: readonly RestPlan[];

beforeAll(async () => {
  world = await startWorld();
  ({ data: plans } = await world.links<{ data: RestPlan[] }>('/api/plans'));
});

function feature({ limits }: RestPlan, name: string): Row {
  const value = limits[name];
  if (typeof value !== 'object') throw new Error(`the sandbox has no ${name}`);
  const { enabled, count } = value;
  return { name, enabled: enabled === '1', count: count === undefined ? null : Number(count) };
}

describe('Query.plans', () => {
  it('answers every plan with its prices, its limits and all its features', async () => {
    expect(plans).toHaveLength(3);
    const answer = await world.data(`{ plans {
      databaseId name free
      prices { monthly yearly lifetime }
      limits { links clicks retention features { name enabled count } }
    } }`);
    expect(answer).toEqual({
      plans: plans.map((plan) => ({
        databaseId: plan.id,
        name: plain(plan.name),
        free: plan.free,
        prices: plan.prices,
        limits: {
          links: plan.limits['links'],
          clicks: plan.limits['clicks'],
          retention: plan.limits['retention'],
          features: features.map((name) => feature(plan, name)),
        },
      })),
    });
  });
});

describe('PlanLimits.feature', () => {
  it.each(features)('answers %s by its name', async (name) => {
    const answer = await world.data(
      'query ($name: PlanFeatureName!) { plans { limits { feature(name: $name) { name enabled count } } } }',
      { name: name.toUpperCase() },
    );
    expect(answer).toEqual({
      plans: plans.map((plan) => ({ limits: { feature: feature(plan, name) } })),
    });
  });

  it('is null for one that the upstream does not mention, and lists one that only the upstream knows', async () => {
    const other = await startWorld({ on: world.sandbox });
    const restore = world.sandbox.links.fault({
      kind: 'answer',
      path: '/api/plans',
      rewrite: (answer) => {
        const { data } = answer.body as { data: { limits: Record<string, unknown> }[] };
        for (const { limits } of data) {
          delete limits['geo'];
          limits['teleport'] = { enabled: '1', count: '3' };
        }
        return answer;
      },
    });
    const answer = await other.data<{
      plans: { limits: { features: Row[]; feature: Row | null } }[];
    }>('{ plans { limits { feature(name: GEO) { name } features { name enabled count } } } }');
    restore();
    for (const { limits } of answer.plans) {
      expect(limits.feature).toBeNull();
      expect(limits.features.at(-1)).toEqual({ name: 'teleport', enabled: true, count: 3 });
    }
  });
});
