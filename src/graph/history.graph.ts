import { type Role, requireRole } from '../auth/viewer.ts';
import { BadUserInput } from '../errors.ts';
import type { Resource } from '../resources.ts';
import { type AtOnce, andThen } from '../scheduling/at-once.ts';
import type { CountPoint, StepSize, StepSpan } from '../upstream/count-history.ts';
import { access } from './access.ts';
import { builder } from './builder.ts';
import { enumOf } from './fields.ts';

/** The number of steps of each size that are kept. */
const kept: Readonly<Record<StepSize, number>> = { HOUR: 720, DAY: 400 };

const HistoryStepRef = enumOf<StepSize>(
  'HistoryStep',
  'The length of a step of a history. Steps are in UTC.',
  {
    HOUR: `An hour. The last ${kept.HOUR} hours are kept, which are 30 days.`,
    DAY: `A day. The last ${kept.DAY} days are kept.`,
  },
);

const HistoryPointRef = builder.objectRef<CountPoint>('HistoryPoint').implement({
  description: 'The value of a count in one step of its history.',
  fields: (t) => ({
    at: t.field({
      type: 'DateTime',
      nullable: false,
      description: 'Start of the step.',
      resolve: ({ at }) => new Date(at).toISOString().replace('.000Z', 'Z'),
    }),
    value: t.exposeFloat('value', {
      description:
        'The last value that the gateway received until the end of the step; null if it has received none.',
    }),
    observed: t.exposeBoolean('observed', {
      nullable: false,
      description:
        'Whether the gateway received a value in this step. If false, the step is a gap: `value` is from an earlier step, and the count can have changed.',
    }),
  }),
});

/** What `builder.objectField` and `builder.queryField` hand to their callbacks, as far as arguments go. */
type ArgumentBuilder = Parameters<Parameters<typeof builder.queryField>[1]>[0]['arg'];

/** The arguments of every history. */
export function historyArguments(arg: ArgumentBuilder) {
  return {
    step: arg({
      type: HistoryStepRef,
      required: true,
      defaultValue: 'DAY',
      description: 'Length of a step.',
    }),
    last: arg.int({
      required: true,
      defaultValue: 30,
      description: `Number of steps, up to the current one: at most ${kept.HOUR} hours or ${kept.DAY} days.`,
    }),
  };
}

/** The type of every history: as many points as `last` says, the oldest first. */
export const historyType: {
  type: [typeof HistoryPointRef];
  nullable: { list: true; items: false };
  semanticNonNull: true;
} = { type: [HistoryPointRef], nullable: { list: true, items: false }, semanticNonNull: true };

/** Added to the description of every history. */
export const historyCost =
  'The oldest step comes first. The gateway records values from responses that it receives for other reasons, and for each API key separately. Costs no upstream request.';

/** @throws BadUserInput `BAD_USER_INPUT` if that many steps of a size are not kept. */
export function spanOf({ last, step }: StepSpan): StepSpan {
  const most = kept[step];
  if (last >= 1 && last <= most) return { last, step };
  throw new BadUserInput(`"last" must be from 1 to ${most} for steps of a ${step}, not ${last}.`);
}

/** The lists of the graph whose length is recorded. */
const lists = {
  CAMPAIGNS: 'campaigns',
  CHANNELS: 'channels',
  DOMAINS: 'domains',
  FILES: 'files',
  ITEMS: 'items',
  OVERLAYS: 'overlays',
  PIXELS: 'pixels',
  PLANS: 'plans',
  QR_CODES: 'qrCodes',
  SPLASH_PAGES: 'splashPages',
  USERS: 'users',
} as const satisfies Readonly<Record<string, Resource>>;

/** The role that the items of a list require is required for their number, too. */
const roleOf: { readonly [list: string]: Role | undefined } = {
  PLANS: access['Plan'],
  USERS: access['User'],
};

const CountedListRef = builder.enumType('CountedList', {
  description: 'A list whose number of items is recorded.',
  values: Object.fromEntries(
    Object.entries(lists).map(([name, field]) => {
      const role = roleOf[name] ? ` Requires role \`${roleOf[name]}\`.` : '';
      return [name, { description: `The list of \`Query.${field}\`.${role}` }] as const;
    }),
  ) as Readonly<Record<keyof typeof lists, { description: string }>>,
});

builder.queryField('totalCountHistory', (t) =>
  t.field({
    ...historyType,
    description: `Number of items of a list over time, without filters. ${historyCost}`,
    args: {
      list: t.arg({
        type: CountedListRef,
        required: true,
        description: 'The list whose items are counted.',
      }),
      ...historyArguments(t.arg),
    },
    resolve: (_root, { list, ...args }, { links, market, viewer }) => {
      const role = roleOf[list];
      if (role) requireRole(viewer, role, `The history of ${list}`);
      const span = spanOf(args);
      const source = list === 'ITEMS' ? market : links;
      // A caller's own key must be accepted before anything is shown for it.
      const admitted = viewer.linksCredential && market.admitted();
      return andThen(admitted, (): AtOnce<CountPoint[]> => {
        return source.history({ count: `total:${lists[list]}`, id: 0 }, span);
      });
    },
  }),
);
