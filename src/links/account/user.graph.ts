import { GatewayError } from '../../errors.ts';
import { builder, databaseId, lazily } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import { parseId } from '../../graph/ids/global-id.ts';
import { deletion, resultOf } from '../../graph/result.ts';
import { andThen } from '../../scheduling/at-once.ts';
import type { Known } from '../../upstream/request.ts';
import { AccountStatusRef } from './account.graph.ts';
import { PlanRef } from './plan.graph.ts';
import { plans, type SubscriptionType, subscribeUser } from './plan.ts';
import { createUser, deleteUser, type User, type UserFilter, userApiKey, users } from './user.ts';

const UserFilterRef = builder.enumType('UserFilter', {
  description: 'Which users to list.',
  values: {
    ADMIN: { description: 'Those who manage the service.' },
    FREE: { description: 'Those on a free plan.' },
    PRO: { description: 'Those on a paid plan.' },
  } satisfies Record<UserFilter, { description: string }>,
});

const UserRef = builder.objectRef<Known<User>>('User');

const allUsers = users();
const planIdOf = lazily(allUsers, 'planId');

builder.node(UserRef, {
  description: 'An account of the link-management API, as its administrators see it.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(allUsers, id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    email: t.string({
      description: 'Address for logging in and for notices; null when the upstream does not say.',
      resolve: lazily(allUsers, 'email'),
    }),
    username: t.string({
      description: 'Name for logging in; null when the upstream does not say.',
      resolve: lazily(allUsers, 'username'),
    }),
    avatar: t.string({
      description: 'URL of the profile picture; null when the upstream sends none.',
      resolve: lazily(allUsers, 'avatar'),
    }),
    status: t.field({
      type: AccountStatusRef,
      description: 'What the user may do; null when the upstream says something unknown.',
      resolve: lazily(allUsers, 'status'),
    }),
    expires: t.field({
      type: 'DateTime',
      description: 'When the user’s plan runs out; null when it does not.',
      resolve: lazily(allUsers, 'expires'),
    }),
    registered: t.field({
      type: 'DateTime',
      description: 'When the account was opened; null when the upstream does not say.',
      resolve: lazily(allUsers, 'registered'),
    }),
    planId: t.int({
      description: 'The id of the user’s plan; null without one.',
      resolve: planIdOf,
    }),
    plan: t.field({
      type: PlanRef,
      description:
        'The user’s plan; null without one, or when it is gone. Costs 1 upstream call for all users together, then none while cached.',
      resolve: (row, args, context) =>
        andThen(planIdOf(row, args, context), (planId) =>
          planId ? context.links.find(plans, planId) : null,
        ),
    }),
    apiKey: t.string({
      description:
        'The user’s API key: a secret, with which anyone can act as this user. `FORBIDDEN` unless the operator has set `EXPOSE_USER_API_KEYS=true`; null when the upstream shows none. Costs 1 upstream call for each user, every time: it is never cached.',
      extensions: { secret: true },
      resolve: ({ id }, _args, { links, exposeUserApiKeys }) => {
        if (exposeUserApiKeys) return links.readSecret(userApiKey(id));
        throw new GatewayError(
          'FORBIDDEN',
          'This gateway does not show API keys of users, unless its operator sets EXPOSE_USER_API_KEYS=true.',
        );
      },
    }),
  }),
});

builder.queryFields((t) => ({
  users: t.field({
    type: [UserRef],
    nullable: { list: true, items: false },
    semanticNonNull: true,
    description:
      'All users, or some of them. For API keys of administrators. Costs 1 upstream call for each filter and address, then none while cached.',
    args: {
      filter: t.arg({ type: UserFilterRef, description: 'Only users of this kind.' }),
      email: t.arg.string({ description: 'Only users the upstream finds for this address.' }),
    },
    resolve: (_root, { filter, email }, { links }) => links.all(users(filter, email)),
  }),
  user: t.field({
    type: UserRef,
    description:
      'One user; null when there is none of this id. For API keys of administrators. Costs nothing while the list of all users is cached, else 1 upstream call.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id, or the upstream’s integer.' }),
    },
    resolve: (_root, { id }, { links }) => links.find(allUsers, parseId('User', id)),
  }),
}));

const CreateUserInput = builder.inputType('CreateUserInput', {
  description: 'An account to open. The upstream chooses what is left out.',
  fields: (t) => ({
    username: t.string({
      required: true,
      description:
        'Name for logging in: at least 3 letters, digits, dots, hyphens and underscores.',
    }),
    email: t.string({ required: true, description: 'Address for logging in and for notices.' }),
    password: t.string({ required: true, description: 'At least 5 characters.' }),
    planId: t.id({
      description: 'The plan to start on: global id, or the upstream’s integer.',
    }),
    expiration: t.field({ type: 'DateTime', description: 'When the plan is to run out.' }),
  }),
});

const SubscriptionTypeRef = builder.enumType('SubscriptionType', {
  description: 'For how long a plan is taken.',
  values: {
    MONTHLY: { description: 'A month.' },
    YEARLY: { description: 'A year.' },
    LIFETIME: { description: 'As long as the service lives.' },
  } satisfies Record<SubscriptionType, { description: string }>,
});

const SubscribeUserInput = builder.inputType('SubscribeUserInput', {
  description: 'Who is to be on which plan, and until when.',
  fields: (t) => ({
    planId: t.id({
      required: true,
      description: 'The plan: global id, or the upstream’s integer.',
    }),
    userId: t.id({
      required: true,
      description: 'The user: global id, or the upstream’s integer.',
    }),
    type: t.field({ type: SubscriptionTypeRef, required: true, description: 'For how long.' }),
    expiration: t.field({
      type: 'DateTime',
      description: 'When it is to run out; without it, the upstream derives that from `type`.',
    }),
  }),
});

builder.mutationFields((t) => ({
  subscribeUser: t.field({
    ...resultOf(UserRef, 'SubscribeUserResult'),
    description:
      'Puts a user on a plan. For API keys of administrators. Costs 1 upstream call; what was not given is read when selected.',
    args: {
      input: t.arg({ type: SubscribeUserInput, required: true, description: 'Who and what.' }),
    },
    resolve: (_root, { input }, { links, clock }) => {
      const checks = new InputChecks('input');
      const planId = checks.id('planId', 'Plan', input.planId);
      const userId = checks.id('userId', 'User', input.userId);
      checks.future('expiration', input.expiration, clock.wall());
      checks.done();
      return links.write(subscribeUser({ ...input, planId, userId }));
    },
  }),
  createUser: t.field({
    ...resultOf(UserRef, 'CreateUserResult'),
    description:
      'Opens an account. For API keys of administrators. Costs 1 upstream call; what neither its answer nor the input holds is read when selected.',
    args: {
      input: t.arg({ type: CreateUserInput, required: true, description: 'What to open.' }),
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
    description: 'Closes an account. For API keys of administrators. Costs 1 upstream call.',
    which: 'Which user: global id, or the upstream’s integer.',
  }),
}));
