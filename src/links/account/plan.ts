import { inner, nested, readInner } from '../../upstream/decode/compound.ts';
import { pageDecoder } from '../../upstream/decode/envelope.ts';
import {
  asMap,
  count,
  type Decoded,
  flag,
  isPresent,
  type JsonObject,
  number,
  type RowOf,
  readField,
  readFields,
  text,
} from '../../upstream/decode/fields.ts';
import type { Known, List, Write } from '../../upstream/request.ts';
import { repeatable } from '../evidence.ts';
import { touches } from '../touches.ts';
import { given, upstreamTime } from '../written.ts';
import type { User } from './user.ts';

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

const priceFields = {
  monthly: number('monthly'),
  yearly: number('yearly'),
  lifetime: number('lifetime'),
};

const countFields = {
  links: count('links'),
  clicks: count('clicks'),
  // In days.
  retention: count('retention'),
};

const fields = {
  name: text('name'),
  free: flag('free'),
  // A free plan has none: `null`, or the empty list that PHP sends for an empty object.
  prices: nested('prices', priceFields),
  limits: inner('limits', decodeLimits),
};

/** What users can subscribe to. Implements: Link API > Resources > Plan. */
export type Plan = RowOf<typeof fields>;

/** In the currency of the installation, which the API does not name. */
export type PlanPrices = Decoded<typeof priceFields>;

/** Most links and clicks that a plan allows, and days that it retains statistics. */
export interface PlanLimits extends Decoded<typeof countFields> {
  /** The documented ones first and in their order, then any other that the installation has. */
  readonly features: readonly PlanFeature[];
}

function decodeLimits(limits: JsonObject): PlanLimits {
  const { members } = limits;
  const documented: readonly string[] = planFeatures;
  const others = Object.keys(members).filter((name) => {
    const value = members[name];
    const isFeature = typeof value === 'object' && value !== null && 'enabled' in value;
    return isFeature && !documented.includes(name);
  });
  const names = [...documented.filter((name) => isPresent(members[name])), ...others];
  const features = names.map((name) => decodeFeature(limits, name));
  return { ...readFields(countFields, limits), features };
}

const featureFields = { enabled: flag('enabled'), count: count('count') };

/** A feature is an object with `enabled`, or a bare flag; one that cannot be read is not enabled. */
function decodeFeature(limits: JsonObject, member: string): PlanFeature {
  const isBare = asMap(limits.members[member]) === undefined;
  const { enabled, count } = isBare
    ? { enabled: readField(flag(member), limits), count: null }
    : readInner(member, featureFields, limits);
  return { name: member.toLowerCase(), enabled: enabled ?? false, count };
}

/**
 * All plans; for administrators only. 1 upstream request.
 * Implements: Link API > Plans > List plans.
 */
export const plans: List<Plan> = {
  resource: 'plans',
  tags: ['plans'],
  path: '/api/plans',
  paged: false,
  decode: pageDecoder({ resource: 'plans', keys: ['plans'], fields }),
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
 * Subscribes a user to a plan. For administrators only. 1 upstream request.
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
    row: `user:${userId}`,
    // Without an `expiration`, an upstream may add the term of a second request to that of the first.
    evidence: expiration == null ? null : repeatable,
  };
}
