import { builder, databaseId } from '../graph/builder.ts';
import { type Account as AccountRow, account, type AccountStatus as Status } from './account.ts';

export const AccountStatus = builder.enumType('AccountStatus', {
  description: 'What an account may do.',
  values: {
    FREE: { description: 'On a plan that costs nothing.' },
    PRO: { description: 'On a paid plan.' },
    ADMIN: { description: 'May also see and manage plans and users.' },
  } satisfies Record<Status, { description: string }>,
});

export const Account = builder.objectRef<AccountRow>('Account');

builder.node(Account, {
  description: 'The account of the link-management API whose API key this gateway uses.',
  id: { resolve: (row) => row.id, parse: Number },
  loadWithoutCache: async (id, { links }) => {
    const own = await links.read(account);
    return own.id === id ? own : null;
  },
  fields: (t) => ({
    databaseId: t.exposeInt('id', databaseId),
    email: t.exposeString('email', { description: 'Address for logging in and for notices.' }),
    username: t.exposeString('username', { description: 'Name for logging in.' }),
    avatar: t.exposeString('avatar', { description: 'URL of the profile picture.' }),
    status: t.expose('status', {
      type: AccountStatus,
      description: 'What the account may do; null when the upstream says something unknown.',
    }),
    expires: t.expose('expires', {
      type: 'DateTime',
      description: 'When the plan runs out; null when it does not.',
    }),
    registered: t.expose('registered', {
      type: 'DateTime',
      description: 'When the account was opened.',
    }),
  }),
});

builder.queryField('account', (t) =>
  t.field({
    type: Account,
    description:
      'The account that this gateway works for. Costs 1 upstream call, then none while kept.',
    resolve: (_root, _args, { links }) => links.read(account),
  }),
);
