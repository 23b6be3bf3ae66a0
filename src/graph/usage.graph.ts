import { BadUserInput } from '../errors.ts';
import { DAY_MS } from '../usage/day-usage.ts';
import { firstOfMonth, KEPT_DAYS } from '../usage/usage.ts';
import type { UsageDimension, UsageGroup, UsageReport } from '../usage/usage-report.ts';
import { builder } from './builder.ts';
import { enumOf, shown } from './fields.ts';
import { UpstreamNameRef } from './rate-limit.graph.ts';

/** Maximum number of rows of a response. */
const MOST_ROWS = 1000;

const dimensions: Readonly<Record<string, UsageDimension>> = {
  DAY: 'day',
  UPSTREAM: 'upstream',
  RESOURCE: 'resource',
  CLASS: 'callerClass',
  CALLER: 'caller',
  OPERATION: 'operation',
};

const UsageDimensionRef = enumOf('UsageDimension', 'What requests are counted by.', {
  DAY: 'The day in UTC.',
  UPSTREAM: 'The API to which they are sent.',
  RESOURCE: 'The resource of the API, such as `channels`.',
  CLASS: 'The class of the caller that caused them.',
  CALLER: 'The caller that caused them.',
  OPERATION: 'The name of the operation.',
});

const UsageRowRef = builder.objectRef<UsageGroup>('UsageRow').implement({
  description:
    'Upstream requests of one group. The members that the rows are not grouped by are null.',
  fields: (t) => ({
    ...shown(t, 'Date', { day: 'The day in UTC; null if rows are not grouped by it.' }),
    upstream: t.expose('upstream', {
      type: UpstreamNameRef,
      description: 'The upstream API; null if rows are not grouped by it.',
    }),
    ...shown(t, 'String', {
      resource: 'The resource of the API, such as `channels`; null if rows are not grouped by it.',
      callerClass:
        'The class of the caller; `(refreshes)` for requests that no caller waits for. Null if rows are not grouped by it.',
      caller:
        'The caller that caused the requests; `(refreshes)` for requests that no caller waits for, `(others)` for callers that are counted together because there are more than about 2000 rows on a day. Null if rows are not grouped by it.',
      operation:
        'The name of the operation; `(unnamed)` for operations without a name, `(others)` for those that are counted together. Null if rows are not grouped by it.',
    }),
    ...shown(t, 'Int!', {
      calls: 'Number of requests that were sent.',
      saved:
        'Number of requests that the cache and requests in flight have avoided. It can be up to a minute late, and after a crash the last minute is missing.',
    }),
  }),
});

const UsageRef = builder.objectRef<UsageReport>('Usage').implement({
  description: 'Upstream requests of a period.',
  fields: (t) => ({
    rows: t.field({
      type: [UsageRowRef],
      nullable: false,
      description:
        'The groups: by day if they are grouped by it, then those with the most requests first.',
      args: {
        first: t.arg.int({
          required: true,
          defaultValue: 100,
          description: `Maximum number of rows, up to ${MOST_ROWS}.`,
        }),
      },
      resolve: ({ groups }, { first }) => {
        if (first >= 0 && first <= MOST_ROWS) return groups.slice(0, first);
        throw new BadUserInput(`"first" must be from 0 to ${MOST_ROWS}, not ${first}.`);
      },
    }),
    totalCount: t.int({
      nullable: false,
      description: 'Number of all rows.',
      resolve: ({ groups }) => groups.length,
    }),
    ...shown(t, 'Int!', {
      calls: 'Number of all requests that were sent in the period.',
      saved: 'Number of all requests that were avoided in the period.',
    }),
  }),
});

builder.queryField('usage', (t) =>
  t.field({
    type: UsageRef,
    description: `Upstream requests by day, caller, class, operation and resource, over the last ${KEPT_DAYS} days. A request counts for the caller that caused it; \`saved\` counts those that a caller did not need. With \`AUTH_MODE=none\` or \`passthrough\`, it has only the requests of this caller. Null only beside an error. Costs no upstream request.`,
    args: {
      from: t.arg({
        type: 'Date',
        description: 'The first day, in UTC; by default the first day of the current month.',
      }),
      to: t.arg({ type: 'Date', description: 'The last day, in UTC; by default the current day.' }),
      by: t.arg({
        type: [UsageDimensionRef],
        required: true,
        defaultValue: ['CALLER'],
        description: 'What the rows are grouped by; an empty list returns one row.',
      }),
    },
    resolve: async (_root, { by, from, to }, { receipt, usage, viewer }) => {
      receipt.changesWithTime();
      // Without a role by a token, an administrator is one of many, who may not see the others.
      const isNamed = !viewer.isAnonymous && !viewer.linksCredential;
      return usage.report({
        ...(isNamed ? {} : { caller: viewer.name }),
        from: from ? dayOf(from) : firstOfMonth(usage.today),
        to: to ? dayOf(to) : usage.today,
        by: by.flatMap((each) => dimensions[each] ?? []),
      });
    },
  }),
);

function dayOf(date: string): number {
  return Date.parse(date) / DAY_MS;
}
