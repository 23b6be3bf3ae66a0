import { builder, databaseId } from '../../graph/builder.ts';
import { enumOf, shown } from '../../graph/fields.ts';
import { flagFilter } from '../../graph/lists/filters.ts';
import { listTable } from '../../graph/lists/list-table.ts';
import { byId, byText } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import {
  type Plan,
  type PlanFeature,
  type PlanLimits,
  type PlanPrices,
  type planFeatures,
  plans,
} from './plan.ts';

const PlanFeatureNameRef = enumOf<Uppercase<(typeof planFeatures)[number]>>(
  'PlanFeatureName',
  'The plan features that the link-management API documents.',
  {
    CUSTOM: 'Short links with a custom alias.',
    TEAM: 'Team members. Has a count.',
    SPLASH: 'Custom splash pages. Has a count.',
    OVERLAY: 'Call-to-action overlays. Has a count.',
    PIXELS: 'Tracking pixels. Has a count.',
    DOMAIN: 'Branded domains. Has a count.',
    MULTIPLE: 'Short links on any of the service’s own domains.',
    ALIAS: 'Premium aliases.',
    DEVICE: 'Device targeting.',
    GEO: 'Geographic targeting.',
    BUNDLE: 'Campaigns, which the API calls bundles.',
    PARAMETERS: 'Parameters added to the target URL.',
    EXPORT: 'Data export.',
    API: 'API access.',
  },
);

const PlanFeatureRef = builder.objectRef<PlanFeature>('PlanFeature').implement({
  description: 'A feature, and whether the plan includes it.',
  fields: (t) => ({
    ...shown(t, 'String!', { name: 'Name of the feature in the API, in lower case.' }),
    ...shown(t, 'Boolean!', { enabled: 'Whether the plan includes the feature.' }),
    count: t.exposeInt('count', {
      description: 'Maximum number of such objects; null if the feature has no count.',
    }),
  }),
});

const PlanPricesRef = builder.objectRef<PlanPrices>('PlanPrices').implement({
  description: 'Prices of a plan, in the currency of the installation.',
  fields: (t) =>
    shown(t, 'Float', {
      monthly: 'Price per month; null if not offered.',
      yearly: 'Price per year; null if not offered.',
      lifetime: 'Price for the lifetime of the service; null if not offered.',
    }),
});

const PlanLimitsRef = builder.objectRef<PlanLimits>('PlanLimits').implement({
  description: 'The limits and features of a plan.',
  fields: (t) => ({
    ...shown(t, 'Int', {
      links: 'Maximum number of links; null if the API does not provide it.',
      clicks: 'Maximum number of counted clicks; null if the API does not provide it.',
      retention: 'Retention of statistics in days; null if the API does not provide it.',
    }),
    features: t.field({
      type: [PlanFeatureRef],
      nullable: false,
      description: 'All features that the API lists, the documented ones first.',
      resolve: (limits) => [...limits.features],
    }),
    feature: t.field({
      type: PlanFeatureRef,
      description: 'A feature by its name; null if the API does not list it.',
      args: {
        name: t.arg({
          type: PlanFeatureNameRef,
          required: true,
          description: 'Which feature to return.',
        }),
      },
      resolve: (limits, { name }) =>
        limits.features.find((feature) => feature.name === name.toLowerCase()),
    }),
  }),
});

/** The type of `Query.plans` and `User.plan`. */
export const PlanRef = builder.objectRef<Plan>('Plan');

builder.node(PlanRef, {
  description: 'A plan that users of the link-management API can subscribe to.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(plans, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shown(t, 'String', { name: 'Name of the plan; null if the API does not provide it.' }),
    free: t.exposeBoolean('free', {
      description: 'Whether the plan is free; null if the API does not provide it.',
    }),
    prices: t.expose('prices', {
      type: PlanPricesRef,
      description: 'Prices of the plan; null for a free plan.',
    }),
    limits: t.expose('limits', {
      type: PlanLimitsRef,
      description: 'Limits and features; null if the API does not provide them.',
    }),
  }),
});

const planTable = listTable<Plan>('Plan', {
  rows: 'plans',
  paged: false,
  search: { in: 'the name', texts: ({ name }) => [name] },
  order: {
    NAME: byText('name', 'Name of the plan.'),
    MONTHLY_PRICE: {
      description: 'Price of a month.',
      value: ({ prices }) => prices?.monthly ?? null,
    },
    YEARLY_PRICE: {
      description: 'Price of a year.',
      value: ({ prices }) => prices?.yearly ?? null,
    },
    LIFETIME_PRICE: {
      description: 'Price without a term.',
      value: ({ prices }) => prices?.lifetime ?? null,
    },
    ID: byId,
  },
  filters: [
    flagFilter('free', ({ free }) => free, 'Only plans that are free (true), or are not (false).'),
  ],
});

builder.queryField('plans', (t) =>
  t.field({
    type: [PlanRef],
    nullable: { list: true, items: false },
    semanticNonNull: true,
    description:
      'All plans. The API key must belong to an administrator. Costs 1 upstream request if not cached.',
    args: planTable.args(t.arg),
    resolve: (_root, args, { links }) => links.all(plans, planTable.view(args)),
  }),
);

lookupField('plan', PlanRef, plans, {
  what: 'A plan',
  whose: 'The plan’s',
  cost: 'The API key must belong to an administrator. Costs no upstream request while the list of plans is cached, otherwise 1.',
});
