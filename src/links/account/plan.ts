import { pageDecoder } from '../../upstream/decode/page.ts';
import type { RowReader } from '../../upstream/decode/row-reader.ts';
import type { Known, List, Row, Write } from '../../upstream/request.ts';
import { touches } from '../touches.ts';
import { given, upstreamTime } from '../written.ts';
import type { User } from './user.ts';

/** What users can subscribe to. Implements: Link API > Resources > Plan. */
export interface Plan extends Row {
  readonly name: string | null;
  readonly free: boolean | null;
  /** `null` for a free plan. */
  readonly prices: PlanPrices | null;
  readonly limits: PlanLimits | null;
}

/** In the currency of the installation, which the API does not name. */
export interface PlanPrices {
  readonly monthly: number | null;
  readonly yearly: number | null;
  readonly lifetime: number | null;
}

/** Most links and clicks that a plan allows, and days that it retains statistics. */
export interface PlanLimits {
  readonly links: number | null;
  readonly clicks: number | null;
  readonly retention: number | null;
  /** The documented ones first and in their order, then any other that the installation has. */
  readonly features: readonly PlanFeature[];
}

/** Whether a plan includes a feature. */
export interface PlanFeature {
  /** As the upstream spells it, in lower case. */
  readonly name: string;
  readonly enabled: boolean;
  /** `null` for a feature that is not counted. */
  readonly count: number | null;
}

/** The documented features, in the order of the documents. */
export const planFeatures = [
  'custom',
  'team',
  'splash',
  'overlay',
  'pixels',
  'domain',
  'multiple',
  'alias',
  'device',
  'geo',
  'bundle',
  'parameters',
  'export',
  'api',
] as const;

/** @throws DecodeError when the plan has no id. */
function decodePlan(row: RowReader): Plan {
  const prices = row.map('prices');
  const limits = row.map('limits');
  return {
    id: row.id(),
    name: row.text('name'),
    free: row.flag('free'),
    // A free plan has no prices: `null`, or the empty list that stands for an empty object.
    prices: prices === null || prices.empty ? null : decodePrices(prices),
    limits: limits && decodeLimits(limits),
  };
}

function decodePrices(row: RowReader): PlanPrices {
  return {
    monthly: row.number('monthly'),
    yearly: row.number('yearly'),
    lifetime: row.number('lifetime'),
  };
}

function decodeLimits(row: RowReader): PlanLimits {
  const features: PlanFeature[] = [];
  for (const name of planFeatures) {
    if (row.has(name)) features.push(decodeFeature(row, name));
  }
  const known: readonly string[] = planFeatures;
  for (const [name, value] of row.members()) {
    const isFeature = typeof value === 'object' && value !== null && 'enabled' in value;
    if (isFeature && !known.includes(name)) features.push(decodeFeature(row, name));
  }
  return {
    links: row.integer('links'),
    clicks: row.integer('clicks'),
    retention: row.integer('retention'),
    features,
  };
}

/** A feature is an object with `enabled`, or a bare flag; one that cannot be read is not enabled. */
function decodeFeature(row: RowReader, member: string): PlanFeature {
  const name = member.toLowerCase();
  if (!row.isMap(member)) return { name, enabled: row.flag(member) ?? false, count: null };
  const feature = row.map(member);
  return {
    name,
    enabled: feature?.flag('enabled') ?? false,
    count: feature?.integer('count') ?? null,
  };
}

/**
 * All plans; for administrators only. 1 upstream call.
 * Implements: Link API > Plans > List plans.
 */
export const plans: List<Plan> = {
  resource: 'plans',
  tags: ['plans'],
  path: '/api/plans',
  paged: false,
  decode: pageDecoder({ resource: 'plans', keys: ['plans'], decodeRow: decodePlan }),
};

/** For how long a plan is taken; `LIFETIME` has no end. */
export type SubscriptionType = 'MONTHLY' | 'YEARLY' | 'LIFETIME';

/** Which user takes which plan. */
export interface SubscribeUser {
  readonly planId: number;
  readonly userId: number;
  readonly type: SubscriptionType;
  /** When it ends, as ISO 8601; without it, the upstream derives the end from `type`. */
  readonly expiration?: string | null | undefined;
}

/**
 * Puts a user on a plan. For administrators only. 1 upstream call.
 * Implements: Link API > Plans > PUT /api/plan/:planid/user/:userid.
 */
export function subscribeUser(input: SubscribeUser): Write<Known<User>> {
  const { planId, userId, type, expiration } = input;
  return {
    method: 'PUT',
    path: `/api/plan/${planId}/user/${userId}`,
    body: ({ timeZone }) =>
      given({ type: type.toLowerCase(), expiration: upstreamTime(expiration, timeZone) }),
    decode: () => ({ id: userId, planId, expires: expiration ?? undefined }),
    touches: () => touches.subscribeUser({ id: userId }),
    check: 'Query.user',
  };
}
