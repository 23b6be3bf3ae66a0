import { GatewayError } from '../../errors.ts';
import { builder, databaseId, lazily, renamedTo } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import { timeFilter } from '../../graph/lists/filters.ts';
import { listTable } from '../../graph/lists/list-table.ts';
import { byId, byText, byTime } from '../../graph/lists/orders.ts';
import { lookupField } from '../../graph/lookup.ts';
import { deletion, resultOf } from '../../graph/result.ts';
import { andThen } from '../../scheduling/at-once.ts';
import type { Known } from '../../upstream/request.ts';
import { AccountStatusRef } from './account.graph.ts';
import { PlanRef } from './plan.graph.ts';
import { plans, type SubscriptionType, subscribeUser } from './plan.ts';
import { createUser, deleteUser, type User, type UserFilter, userApiKey, users } from './user.ts';

const UserFilterRef = builder.enumType('UserFilter', {
  description: 'The kind of users to list.',
  values: {
    ADMIN: { description: 'Administrators.' },
    FREE: { description: 'Users on a free plan.' },
    PRO: { description: 'Users on a paid plan.' },
  } satisfies Record<UserFilter, { description: string }>,
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
    email: t.string({
      description:
        'Email address for login and notifications; null if the API does not provide it.',
      resolve: lazily(allUsers, 'email'),
    }),
    username: t.string({
      description: 'User name; null if the API does not provide it.',
      resolve: lazily(allUsers, 'username'),
    }),
    avatar: t.string({
      description: 'URL of the profile picture; null if the API does not provide it.',
      resolve: lazily(allUsers, 'avatar'),
    }),
    status: t.field({
      type: AccountStatusRef,
      description: 'Kind of the account; null if the API sends an unknown value.',
      resolve: lazily(allUsers, 'status'),
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description:
        'Time at which the user’s plan expires; null if it does not expire. Costs no extra upstream request.',
      resolve: lazily(allUsers, 'expires'),
    }),
    expires: t.field({
      type: 'DateTime',
      description: 'Time at which the user’s plan expires; null if it does not expire.',
      resolve: lazily(allUsers, 'expires'),
      ...renamedTo('expiresAt'),
    }),
    registeredAt: t.field({
      type: 'DateTime',
      description:
        'Registration time; null if the API does not provide it. Costs no extra upstream request.',
      resolve: lazily(allUsers, 'registered'),
    }),
    registered: t.field({
      type: 'DateTime',
      description: 'Registration time; null if the API does not provide it.',
      resolve: lazily(allUsers, 'registered'),
      ...renamedTo('registeredAt'),
    }),
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

const SubscriptionTypeRef = builder.enumType('SubscriptionType', {
  description: 'Term of a subscription.',
  values: {
    MONTHLY: { description: 'One month.' },
    YEARLY: { description: 'One year.' },
    LIFETIME: { description: 'For the lifetime of the service.' },
  } satisfies Record<SubscriptionType, { description: string }>,
});

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
  subscribeUser: t.field({
    ...resultOf(UserRef, 'SubscribeUserResult'),
    description:
      'Subscribes a user to a plan. The API key must belong to an administrator. Costs 1 upstream request, plus a read of the user for selected fields that the input does not contain.',
    args: {
      input: t.arg({
        type: SubscribeUserInput,
        required: true,
        description: 'The user, the plan and the term.',
      }),
    },
    resolve: (_root, { input }, { links, clock }) => {
      const checks = new InputChecks('input');
      const planId = checks.id('planId', 'Plan', input.planId);
      const userId = checks.id('userId', 'User', input.userId);
      checks.future('expiration', input.expiration, clock.wall());
      checks.done();
      return links.update(allUsers, userId, subscribeUser({ ...input, planId, userId }));
    },
  }),
  createUser: t.field({
    ...resultOf(UserRef, 'CreateUserResult'),
    description:
      'Creates a user. The API key must belong to an administrator. Costs 1 upstream request, plus a read of the user for selected fields that neither the response nor the input contains.',
    args: {
      input: t.arg({
        type: CreateUserInput,
        required: true,
        description: 'Values of the new user.',
      }),
    },
    resolve: (_root, { input }, { links, clock }) => {
      const checks = new InputChecks('input');
      checks.username('username', input.username);
      checks.email('email', input.email);
      checks.password('password', input.password);
      const planId = input.planId == null ? undefined : checks.id('planId', 'Plan', input.planId);
      checks.future('expiration', input.expiration, clock.wall());
      checks.done();
      return links.write(createUser({ ...input, planId }));
    },
  }),
  deleteUser: deletion(t, 'User', deleteUser, {
    result: 'DeleteUserResult',
    description:
      'Deletes a user. The API key must belong to an administrator. Costs 1 upstream request.',
    which: 'The user’s `id` or `databaseId`.',
  }),
}));
