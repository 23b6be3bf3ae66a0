import { builder, databaseId } from '../../graph/builder.ts';
import {
  type Plan,
  type PlanFeature,
  type PlanLimits,
  type PlanPrices,
  type planFeatures,
  plans,
} from './plan.ts';

const PlanFeatureNameRef = builder.enumType('PlanFeatureName', {
  description: 'The features that the link-management API documents for plans.',
  values: {
    CUSTOM: { description: 'Short links with an alias of one’s choice.' },
    TEAM: { description: 'Team members; counted.' },
    SPLASH: { description: 'Custom splash pages; counted.' },
    OVERLAY: { description: 'Call-to-action overlays; counted.' },
    PIXELS: { description: 'Tracking pixels; counted.' },
    DOMAIN: { description: 'Branded domains; counted.' },
    MULTIPLE: { description: 'Several of the service’s own domains to choose from.' },
    ALIAS: { description: 'Premium aliases.' },
    DEVICE: { description: 'Targets by device.' },
    GEO: { description: 'Targets by country.' },
    BUNDLE: { description: 'Bundles of links, that is, campaigns.' },
    PARAMETERS: { description: 'Parameters added to the target.' },
    EXPORT: { description: 'Export of data.' },
    API: { description: 'Use of the API.' },
  } satisfies Record<Uppercase<(typeof planFeatures)[number]>, { description: string }>,
});

const PlanFeatureRef = builder.objectRef<PlanFeature>('PlanFeature').implement({
  description: 'Whether a plan includes a feature, and how many of it.',
  fields: (t) => ({
    name: t.exposeString('name', {
      nullable: false,
      description: 'As the upstream spells it, in lower case.',
    }),
    enabled: t.exposeBoolean('enabled', {
      nullable: false,
      description: 'Whether the plan includes it.',
    }),
    count: t.exposeInt('count', {
      description: 'How many the plan includes; null for a feature that is not counted.',
    }),
  }),
});

const PlanPricesRef = builder.objectRef<PlanPrices>('PlanPrices').implement({
  description: 'What a plan costs, in the currency of the installation.',
  fields: (t) => ({
    monthly: t.exposeFloat('monthly', {
      description: 'Price for a month; null when it is not sold so.',
    }),
    yearly: t.exposeFloat('yearly', {
      description: 'Price for a year; null when it is not sold so.',
    }),
    lifetime: t.exposeFloat('lifetime', {
      description: 'Price for as long as the service lives; null when it is not sold so.',
    }),
  }),
});

const PlanLimitsRef = builder.objectRef<PlanLimits>('PlanLimits').implement({
  description: 'What a plan allows.',
  fields: (t) => ({
    links: t.exposeInt('links', {
      description: 'How many links an account may have; null when the upstream does not say.',
    }),
    clicks: t.exposeInt('clicks', {
      description: 'How many clicks are counted; null when the upstream does not say.',
    }),
    retention: t.exposeInt('retention', {
      description: 'How long the upstream retains statistics, in days; null when it does not say.',
    }),
    features: t.field({
      type: [PlanFeatureRef],
      nullable: false,
      description: 'Every feature the upstream names, the documented ones first.',
      resolve: (limits) => [...limits.features],
    }),
    feature: t.field({
      type: PlanFeatureRef,
      description: 'One feature by its name; null when the upstream does not mention it.',
      args: {
        name: t.arg({ type: PlanFeatureNameRef, required: true, description: 'Which one.' }),
      },
      resolve: (limits, { name }) =>
        limits.features.find((feature) => feature.name === name.toLowerCase()),
    }),
  }),
});

/** The type of `Query.plans` and `User.plan`. */
export const PlanRef = builder.objectRef<Plan>('Plan');

builder.node(PlanRef, {
  description: 'What users of the link-management API can subscribe to.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(plans, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    name: t.exposeString('name', {
      description: 'What it is sold as; null when the upstream does not say.',
    }),
    free: t.exposeBoolean('free', {
      description: 'Whether it costs nothing; null when the upstream does not say.',
    }),
    prices: t.expose('prices', {
      type: PlanPricesRef,
      description: 'What it costs; null for a free plan.',
    }),
    limits: t.expose('limits', {
      type: PlanLimitsRef,
      description: 'What it allows; null when the upstream does not say.',
    }),
  }),
});

builder.queryField('plans', (t) =>
  t.field({
    type: [PlanRef],
    nullable: { list: true, items: false },
    semanticNonNull: true,
    description:
      'All plans. For API keys of administrators. Costs 1 upstream call, then none while cached.',
    resolve: (_root, _args, { links }) => links.all(plans),
  }),
);
