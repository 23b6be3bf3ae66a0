import { builder } from '../../graph/builder.ts';
import type { GraphContext } from '../../graph/context.ts';
import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import type { List, Row } from '../../upstream/request.ts';
import { domains } from '../brand/branded-domain.ts';
import { overlays } from '../brand/cta-overlay.ts';
import { pixels } from '../brand/pixel.ts';
import { splashPages } from '../brand/splash-page.ts';
import { AccountRef, accountId } from './account.graph.ts';
import type { KnownAccount } from './account.ts';
import { PlanRef } from './plan.graph.ts';
import { type Plan, type PlanFeature, type PlanLimits, plans } from './plan.ts';
import { users } from './user.ts';

/** What a plan limits by number, and the list whose length is the number in use. */
const limited = {
  LINKS: {
    list: null,
    description: 'Short links. The API has no list of them. `used` is null and costs nothing.',
  },
  CLICKS: {
    list: null,
    description:
      'Counted clicks. The API does not provide their number. `used` is null and costs nothing.',
  },
  TEAM: {
    list: null,
    description: 'Team members. The API has no list of them. `used` is null and costs nothing.',
  },
  SPLASH: {
    list: splashPages,
    description: 'Custom splash pages. `used` costs 1 upstream request if not cached.',
  },
  OVERLAY: {
    list: overlays,
    description: 'Call-to-action overlays. `used` costs 1 upstream request if not cached.',
  },
  PIXELS: {
    list: pixels,
    description: 'Tracking pixels. `used` costs 1 upstream request if not cached.',
  },
  DOMAIN: {
    list: domains,
    description: 'Branded domains. `used` costs 1 upstream request if not cached.',
  },
} satisfies Record<string, { readonly list: List<Row> | null; readonly description: string }>;

type Limited = keyof typeof limited;

const LimitedRef = builder.enumType('PlanUsageFeature', {
  description: 'What a plan limits by number, and `PlanUsage.used` counts at the cost of a list.',
  values: limited,
});

interface PlanUsage {
  readonly feature: Limited;
  readonly limits: PlanLimits | null;
}

const PlanUsageRef = builder.objectRef<PlanUsage>('PlanUsage').implement({
  description:
    'How much of one limit of the account’s plan is used. Only `used` has a cost of its own.',
  fields: (t) => ({
    feature: t.expose('feature', {
      type: LimitedRef,
      nullable: false,
      description: 'What is limited. Costs no extra upstream request.',
    }),
    used: t.int({
      description:
        'Number in use: the length of the account’s list; null if the API has no such list, or does not provide its length. Costs 1 upstream request if the first page of the list is not cached, nothing without a list.',
      resolve: ({ feature }, _args, { links }) => {
        const list: List<Row> | null = limited[feature].list;
        return list && andThen(links.connection(list, { first: 0 }), (page) => page?.totalCount);
      },
    }),
    limit: t.int({
      description:
        'Number that the plan includes, as the API states it; null if it does not. Some installations write 0 for no limit. Costs no extra upstream request.',
      resolve: limitOf,
    }),
    enabled: t.boolean({
      description:
        'Whether the plan includes the feature; null if the API does not say. Always null for links and clicks. Costs no extra upstream request.',
      resolve: ({ feature, limits }) => featureOf(limits, feature)?.enabled,
    }),
  }),
});

function limitOf({ feature, limits }: PlanUsage): number | null {
  if (feature === 'LINKS') return limits?.links ?? null;
  if (feature === 'CLICKS') return limits?.clicks ?? null;
  return featureOf(limits, feature)?.count ?? null;
}

function featureOf(limits: PlanLimits | null, name: Limited): PlanFeature | undefined {
  return limits?.features.find((feature) => feature.name === name.toLowerCase());
}

/** The plan of the account: `null` without one. Only the row that administrators see of a user names it. */
function planOf(row: KnownAccount, args: unknown, context: GraphContext): AtOnce<Plan | null> {
  const { links } = context;
  return andThen(accountId(row, args, context), (id) =>
    andThen(links.find(users(), id), (user) =>
      user?.planId ? links.find(plans, user.planId) : null,
    ),
  );
}

builder.objectFields(AccountRef, (t) => ({
  plan: t.field({
    type: PlanRef,
    description:
      'The plan of the account; null if it has none or the plan was deleted. The API key must belong to an administrator: otherwise it fails with `UPSTREAM_FORBIDDEN`. Costs 1 upstream request for the user and 1 for the plans of all users if not cached.',
    resolve: planOf,
  }),
  usage: t.field({
    type: [PlanUsageRef],
    nullable: { list: true, items: false },
    description:
      'How much of the plan’s limits is used, one entry for each; null if the account has no plan. The API key must belong to an administrator, as for `plan`. Costs what `plan` costs, plus what each selected `used` costs.',
    resolve: (row, args, context) =>
      andThen(
        planOf(row, args, context),
        (plan) =>
          plan &&
          (Object.keys(limited) as Limited[]).map((feature) => ({ feature, limits: plan.limits })),
      ),
  }),
}));
