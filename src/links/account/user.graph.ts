import { GatewayError } from '../../errors.ts';
import { builder, databaseId } from '../../graph/builder.ts';
import { changeField, deletion } from '../../graph/change.ts';
import { enumOf, lazily, renamedTime, shownLazily } from '../../graph/fields.ts';
import { timeFilter } from '../../graph/lists/filters.ts';
import { listTable } from '../../graph/lists/list-table.ts';
import { byId, byText, byTime } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import { andThen } from '../../scheduling/at-once.ts';
import type { Known } from '../../upstream/request.ts';
import { AccountStatusRef } from './account.graph.ts';
import { PlanRef } from './plan.graph.ts';
import { plans, type SubscriptionType, subscribeUser } from './plan.ts';
import { createUser, deleteUser, type User, type UserFilter, userApiKey, users } from './user.ts';

const UserFilterRef = enumOf<UserFilter>('UserFilter', 'The kind of users to list.', {
  ADMIN: 'Administrators.',
  FREE: 'Users on a free plan.',
  PRO: 'Users on a paid plan.',
});

/** The type of `Query.users` and `Plan.users`. */
export const UserRef = builder.objectRef<Known<User>>('User');

const allUsers = users();
const planIdOf = lazily(allUsers, 'planId');

builder.node(UserRef, {
  description: 'A user account of the link-management API.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(allUsers, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    ...shownLazily(t, allUsers, 'String', {
      email: 'Email address for login and notifications; null if the API does not provide it.',
      username: 'User name; null if the API does not provide it.',
      avatar: 'URL of the profile picture; null if the API does not provide it.',
    }),
    status: t.field({
      type: AccountStatusRef,
      description: 'Kind of the account; null if the API sends an unknown value.',
      resolve: lazily(allUsers, 'status'),
    }),
    ...renamedTime(
      t,
      ['expiresAt', 'expires'],
      'Time at which the user’s plan expires; null if it does not expire.',
      lazily(allUsers, 'expires'),
    ),
    ...renamedTime(
      t,
      ['registeredAt', 'registered'],
      'Registration time; null if the API does not provide it.',
      lazily(allUsers, 'registered'),
    ),
    planId: t.int({
      description: 'The `databaseId` of the user’s plan; null if the user has none.',
      resolve: planIdOf,
    }),
    plan: t.field({
      type: PlanRef,
      description:
        'The user’s plan; null if the user has none or the plan was deleted. Costs 1 upstream request for the plans of all users if not cached.',
      resolve: (row, args, context) =>
        andThen(planIdOf(row, args, context), (planId) =>
          planId ? context.links.find(plans, planId) : null,
        ),
    }),
    apiKey: t.string({
      description:
        'The user’s API key, a secret that gives full access to the user’s account. Fails with `FORBIDDEN` unless the operator sets `EXPOSE_USER_API_KEYS=true`. Null if the API does not provide it. Costs 1 upstream request per user; never cached.',
      extensions: { secret: true },
      resolve: ({ id }, _args, { links, exposeUserApiKeys }) => {
        if (exposeUserApiKeys) return links.readSecret(userApiKey(id));
        throw new GatewayError(
          'FORBIDDEN',
          'This gateway does not expose API keys of users. The operator can allow it with EXPOSE_USER_API_KEYS=true.',
        );
      },
    }),
  }),
});

const userTable = listTable<User>('User', {
  rows: 'users',
  paged: false,
  search: { in: 'email address or user name', texts: ({ email, username }) => [email, username] },
  order: {
    EMAIL: byText('email', 'Email address.'),
    USERNAME: byText('username', 'Name for login.'),
    REGISTERED_AT: byTime('registered', 'Registration time.'),
    EXPIRES_AT: byTime('expires', 'Time at which the plan expires.'),
    ID: byId,
  },
  filters: [
    timeFilter(
      'registeredAt',
      ({ registered }) => registered,
      'Only users who registered in this range of time.',
    ),
    timeFilter(
      'expiresAt',
      ({ expires }) => expires,
      'Only users whose plan expires in this range of time.',
    ),
  ],
});

builder.queryFields((t) => ({
  users: t.field({
    type: [UserRef],
    nullable: { list: true, items: false },
    semanticNonNull: true,
    description:
      'All users, or those that match the arguments. The API key must belong to an administrator. Costs 1 upstream request per combination of arguments if not cached.',
    args: {
      filter: t.arg({ type: UserFilterRef, description: 'Only users of this kind.' }),
      email: t.arg.string({
        description: 'Only users with this email address, as the API compares it.',
      }),
      ...userTable.args(t.arg),
    },
    resolve: (_root, args, { links }) =>
      links.all(users(args.filter, args.email), userTable.view(args)),
  }),
}));

lookupField('user', UserRef, allUsers, {
  what: 'A user',
  whose: 'The user’s',
  cost: 'The API key must belong to an administrator. Costs no upstream request while the list of all users is cached, otherwise 1.',
});

const CreateUserInput = builder.inputType('CreateUserInput', {
  description: 'The user to create. The API sets default values for omitted members.',
  fields: (t) => ({
    username: t.string({
      required: true,
      description:
        'User name: at least 3 characters, each a letter, digit, dot, hyphen or underscore.',
    }),
    email: t.string({ required: true, description: 'Email address for login and notifications.' }),
    password: t.string({ required: true, description: 'Password with at least 5 characters.' }),
    planId: t.id({
      description: 'The `id` or `databaseId` of the plan.',
    }),
    expiration: t.field({ type: 'DateTime', description: 'Time at which the plan expires.' }),
  }),
});

const SubscriptionTypeRef = enumOf<SubscriptionType>(
  'SubscriptionType',
  'Term of a subscription.',
  {
    MONTHLY: 'One month.',
    YEARLY: 'One year.',
    LIFETIME: 'For the lifetime of the service.',
  },
);

const SubscribeUserInput = builder.inputType('SubscribeUserInput', {
  description: 'The subscription of a user to a plan.',
  fields: (t) => ({
    planId: t.id({
      required: true,
      description: 'The plan’s `id` or `databaseId`.',
    }),
    userId: t.id({
      required: true,
      description: 'The user’s `id` or `databaseId`.',
    }),
    type: t.field({
      type: SubscriptionTypeRef,
      required: true,
      description: 'Term of the subscription.',
    }),
    expiration: t.field({
      type: 'DateTime',
      description:
        'Time at which the subscription expires. If omitted, the API derives it from `type`.',
    }),
  }),
});

builder.mutationFields((t) => ({
  subscribeUser: changeField(t, UserRef, {
    result: 'SubscribeUserResult',
    description:
      'Subscribes a user to a plan. The API key must belong to an administrator. Costs 1 upstream request, plus a read of the user for selected fields that the input does not contain.',
    input: [SubscribeUserInput, 'The user, the plan and the term.'],
    check(checks, input, { clock }) {
      const planId = checks.id('planId', 'Plan', input.planId);
      const userId = checks.id('userId', 'User', input.userId);
      checks.future('expiration', input.expiration, clock.wall());
      return { planId, userId };
    },
    send: (input, { links }, { planId, userId }) =>
      links.update(allUsers, userId, subscribeUser({ ...input, planId, userId })),
  }),
  createUser: changeField(t, UserRef, {
    result: 'CreateUserResult',
    description:
      'Creates a user. The API key must belong to an administrator. Costs 1 upstream request, plus a read of the user for selected fields that neither the response nor the input contains.',
    input: [CreateUserInput, 'Values of the new user.'],
    check(checks, input, { clock }) {
      checks.username('username', input.username);
      checks.email('email', input.email);
      checks.password('password', input.password);
      const planId = input.planId == null ? undefined : checks.id('planId', 'Plan', input.planId);
      checks.future('expiration', input.expiration, clock.wall());
      return planId;
    },
    send: (input, { links }, planId) => links.write(createUser({ ...input, planId })),
  }),
  deleteUser: deletion(t, 'User', deleteUser, {
    result: 'DeleteUserResult',
    description:
      'Deletes a user. The API key must belong to an administrator. Costs 1 upstream request.',
    which: 'The user’s `id` or `databaseId`.',
  }),
}));
