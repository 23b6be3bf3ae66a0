import { DEFAULT_CLASS } from '../auth/caller-class.ts';
import { builder } from './builder.ts';
import { enumOf, shown } from './fields.ts';

/** The two upstreams, as arguments and results name them. */
export const UpstreamNameRef = enumOf('UpstreamName', 'The two upstream REST APIs.', {
  LINKS: 'The link-management API.',
  MARKET: 'The marketplace API.',
});

interface RateLimit {
  readonly limit: number;
  readonly remaining: number;
  readonly available: number;
  readonly used: number;
  readonly resetAt: string | null;
  readonly upstreamResetAt: string | null;
  readonly windowSeconds: number;
  readonly queued: number;
  readonly cost: number;
  readonly callerClass: string;
  readonly quota: QuotaShown | null;
}

interface QuotaShown {
  readonly limit: number;
  readonly used: number;
  readonly resetAt: string | null;
}

const QuotaRef = builder.objectRef<QuotaShown>('Quota').implement({
  description:
    'The limit of a class of callers for one upstream API in a sliding minute, and what of it is used; for an API with another window, that window at the same rate.',
  fields: (t) => ({
    ...shown(t, 'Int!', {
      limit: 'Maximum number of requests of all callers of the class in the window.',
      used: 'Number of requests that count against the limit now. Cache hits do not count.',
    }),
    remaining: t.int({
      nullable: false,
      description: 'Number of requests that the class has left.',
      resolve: ({ limit, used }) => Math.max(0, limit - used),
    }),
    resetAt: t.expose('resetAt', {
      type: 'DateTime',
      description:
        'Time at which the whole limit is available again if no further request is sent; null if it is available now.',
    }),
  }),
});

const RateLimitRef = builder.objectRef<RateLimit>('RateLimit').implement({
  description: 'The rate limit budget of one upstream API, for the credential of this caller.',
  fields: (t) => ({
    ...shown(t, 'Int!', {
      limit: 'Maximum number of requests per window; 0 if the API is not configured.',
      remaining: 'Number of requests that can be sent now.',
      available:
        'Number of requests that reads of this caller can send now: `remaining` without those that are reserved for writes and for callers that have sent fewer. In a live query, it is the number for a caller that has sent nothing. Costs no upstream request.',
    }),
    callerClass: t.exposeString('callerClass', {
      nullable: false,
      description:
        'The class of this caller, which the operator configures: while callers of several classes wait, the classes share the limit by weight. In a live query, it is `default`. Costs no upstream request.',
    }),
    quota: t.expose('quota', {
      type: QuotaRef,
      description:
        'The limit of the class of this caller; null if it has none. Costs no upstream request.',
    }),
    used: t.exposeInt('used', {
      nullable: false,
      description:
        'Number of requests that count against the limit now, including those of other programs that use the same key.',
    }),
    ...shown(t, 'DateTime', {
      resetAt:
        'Time at which the whole limit is available again if no further request is sent; null if it is available now.',
      upstreamResetAt:
        'Time at which the API begins a new window, by the headers of its latest response; null if they do not say, or it has passed. It can be earlier than `resetAt`: the gateway counts each request for a whole window. Costs no upstream request.',
    }),
    windowSeconds: t.exposeFloat('windowSeconds', {
      nullable: false,
      description:
        'Length of the window in seconds; 0 if the API is not configured. Costs no upstream request.',
    }),
    ...shown(t, 'Int!', {
      queued: 'Number of requests that wait for a free slot.',
      cost: 'Number of upstream requests that this operation sent to this API.',
    }),
  }),
});

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimitRef,
    nullable: false,
    description:
      'The rate limit budget of one upstream API, read after all other fields of the operation are resolved. Costs no upstream request, unless the caller’s own API key must be verified first.',
    args: {
      upstream: t.arg({
        type: UpstreamNameRef,
        required: true,
        defaultValue: 'LINKS',
        description: 'The upstream API.',
      }),
    },
    resolve: async (_root, { upstream }, { links, market, receipt, clock }) => {
      receipt.changesWithTime();
      const source = upstream === 'LINKS' ? links : market;
      const state = await source.budgetState(() => receipt.idle());
      const momentIn = (ms: number | null | undefined): string | null =>
        ms == null ? null : toDateTime(clock.wall() + ms);
      return {
        limit: state?.limit ?? 0,
        remaining: state?.remaining ?? 0,
        available: state?.available ?? 0,
        used: state?.used ?? 0,
        resetAt: momentIn(state?.resetInMs),
        upstreamResetAt: momentIn(state?.upstreamResetInMs),
        windowSeconds: (state?.budget.windowMs ?? 0) / 1000,
        queued: state?.queued ?? 0,
        cost: receipt.calls(upstream),
        callerClass: state?.callerClass ?? DEFAULT_CLASS,
        quota: state?.quota
          ? { ...state.quota, resetAt: momentIn(state.quota.clearMs || null) }
          : null,
      };
    },
  }),
);

/** Formats a moment as `DateTime`, rounded up to the second so that it is not too early. */
function toDateTime(wallMs: number): string {
  return new Date(Math.ceil(wallMs / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}
