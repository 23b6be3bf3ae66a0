import { builder } from './builder.ts';

/** The two upstreams, as arguments and results name them. */
export const UpstreamNameRef = builder.enumType('UpstreamName', {
  description: 'The two REST APIs behind this graph.',
  values: {
    LINKS: { description: 'The link-management API.' },
    MARKET: { description: 'The marketplace API.' },
  },
});

interface RateLimit {
  readonly limit: number;
  readonly remaining: number;
  readonly used: number;
  readonly resetAt: string | null;
  readonly queued: number;
  readonly cost: number;
}

const RateLimitRef = builder.objectRef<RateLimit>('RateLimit').implement({
  description: 'The budget of one upstream, as it stands for this caller’s credential.',
  fields: (t) => ({
    limit: t.exposeInt('limit', {
      nullable: false,
      description: 'Requests that the upstream allows a window; 0 when this API is not configured.',
    }),
    remaining: t.exposeInt('remaining', {
      nullable: false,
      description: 'Requests that could be sent at this moment.',
    }),
    used: t.exposeInt('used', {
      nullable: false,
      description:
        'Requests that count against the limit now, those of co-tenants of the key included.',
    }),
    resetAt: t.expose('resetAt', {
      type: 'DateTime',
      description: 'When no request counts any more, if no other is sent; null when none counts.',
    }),
    queued: t.exposeInt('queued', {
      nullable: false,
      description: 'Requests queued for a slot of the window.',
    }),
    cost: t.exposeInt('cost', {
      nullable: false,
      description: 'Requests sent to this upstream for this operation, all its fields together.',
    }),
  }),
});

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimitRef,
    nullable: false,
    description:
      'The budget of one upstream after everything else in this operation has been read. Costs nothing, unless the caller’s own key is to be admitted first.',
    args: {
      upstream: t.arg({
        type: UpstreamNameRef,
        required: true,
        defaultValue: 'LINKS',
        description: 'Which of the two.',
      }),
    },
    resolve: async (_root, { upstream }, { links, market, receipt, clock }) => {
      receipt.changesWithTime();
      const source = upstream === 'LINKS' ? links : market;
      const state = await source.budgetState(() => receipt.idle());
      return {
        limit: state?.limit ?? 0,
        remaining: state?.remaining ?? 0,
        used: state?.used ?? 0,
        resetAt: state?.resetInMs == null ? null : toDateTime(clock.wall() + state.resetInMs),
        queued: state?.queued ?? 0,
        cost: receipt.calls(upstream),
      };
    },
  }),
);

/** Formats a moment as `DateTime`, rounded up to the second so that it is not too early. */
function toDateTime(wallMs: number): string {
  return new Date(Math.ceil(wallMs / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}
