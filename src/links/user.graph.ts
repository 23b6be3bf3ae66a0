import { builder, databaseId } from '../graph/builder.ts';
import { parseId } from '../graph/identifier.ts';
import { AccountStatus } from './account.graph.ts';
import { Plan } from './plan.graph.ts';
import { plans } from './plan.ts';
import { type UserFilter as Filter, type User as UserRow, users } from './user.ts';

const UserFilter = builder.enumType('UserFilter', {
  description: 'Which users to list.',
  values: {
    ADMIN: { description: 'Those who manage the service.' },
    FREE: { description: 'Those on a free plan.' },
    PRO: { description: 'Those on a paid plan.' },
  } satisfies Record<Filter, { description: string }>,
});

export const User = builder.objectRef<UserRow>('User');

builder.node(User, {
  description: 'An account of the link-management API, as its administrators see it.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: (id, { links }) => links.find(users(), id),
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    email: t.exposeString('email', { description: 'Address for logging in and for notices.' }),
    username: t.exposeString('username', { description: 'Name for logging in.' }),
    avatar: t.exposeString('avatar', { description: 'URL of the profile picture.' }),
    status: t.expose('status', {
      type: AccountStatus,
      description: 'What the user may do; null when the upstream says something unknown.',
    }),
    expires: t.expose('expires', {
      type: 'DateTime',
      description: 'When the user’s plan runs out; null when it does not.',
    }),
    registered: t.expose('registered', {
      type: 'DateTime',
      description: 'When the account was opened.',
    }),
    planId: t.exposeInt('planId', { description: 'The id of the user’s plan; null without one.' }),
    plan: t.field({
      type: Plan,
      description:
        'The user’s plan; null without one, or when it is gone. Costs 1 upstream call for all users together, then none while kept.',
      resolve: ({ planId }, _args, { links }) => (planId ? links.find(plans, planId) : null),
    }),
  }),
});

builder.queryFields((t) => ({
  users: t.field({
    type: [User],
    nullable: { list: true, items: false },
    description:
      'All users, or some of them. For API keys of administrators. Costs 1 upstream call for each filter and address, then none while kept.',
    args: {
      filter: t.arg({ type: UserFilter, description: 'Only users of this kind.' }),
      email: t.arg.string({ description: 'Only users the upstream finds for this address.' }),
    },
    resolve: (_root, { filter, email }, { links }) => links.all(users(filter, email)),
  }),
  user: t.field({
    type: User,
    description:
      'One user; null when there is none of this id. For API keys of administrators. Costs nothing while the list of all users is kept, else 1 upstream call.',
    args: {
      id: t.arg.id({ required: true, description: 'Global id, or the upstream’s integer.' }),
    },
    resolve: (_root, { id }, { links }) => links.find(users(), parseId('User', id)),
  }),
}));
