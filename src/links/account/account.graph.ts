import { builder, databaseId } from '../../graph/builder.ts';
import { InputChecks } from '../../graph/checks.ts';
import type { GraphContext } from '../../graph/context.ts';
import { resultOf } from '../../graph/result.ts';
import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import {
  type Account,
  type AccountStatus,
  account,
  type KnownAccount,
  updateAccount,
} from './account.ts';

/** The type of `Account.status` and `User.status`. */
export const AccountStatusRef = builder.enumType('AccountStatus', {
  description: 'What an account may do.',
  values: {
    FREE: { description: 'On a plan that costs nothing.' },
    PRO: { description: 'On a paid plan.' },
    ADMIN: { description: 'May also see and manage plans and users.' },
  } satisfies Record<AccountStatus, { description: string }>,
});

const AccountRef = builder.objectRef<KnownAccount>('Account');

/** Resolves a member of the account: 0 calls where it is known, else 1 for all members together. */
function lazily<Member extends keyof Account>(member: Member) {
  return (row: KnownAccount, _args: unknown, { links }: GraphContext): AtOnce<Account[Member]> => {
    const known = row[member];
    return known === undefined ? andThen(links.read(account), (read) => read[member]) : known;
  };
}

builder.node(AccountRef, {
  description: 'The account of the link-management API whose API key this gateway uses.',
  id: { resolve: lazily('id'), parse: Number },
  loadWithoutCache: async (id, { links }) => {
    const own = await links.read(account);
    return own.id === id ? own : null;
  },
  fields: (t) => ({
    databaseId: t.int({ ...databaseId, resolve: lazily('id') }),
    email: t.string({
      description: 'Address for logging in and for notices; null when the upstream does not say.',
      resolve: lazily('email'),
    }),
    username: t.string({
      description: 'Name for logging in; null when the upstream does not say.',
      resolve: lazily('username'),
    }),
    avatar: t.string({
      description: 'URL of the profile picture; null when the upstream sends none.',
      resolve: lazily('avatar'),
    }),
    status: t.field({
      type: AccountStatusRef,
      description: 'What the account may do; null when the upstream says something unknown.',
      resolve: lazily('status'),
    }),
    expires: t.field({
      type: 'DateTime',
      description: 'When the plan runs out; null when it does not.',
      resolve: lazily('expires'),
    }),
    registered: t.field({
      type: 'DateTime',
      description: 'When the account was opened; null when the upstream does not say.',
      resolve: lazily('registered'),
    }),
  }),
});

builder.queryField('account', (t) =>
  t.field({
    type: AccountRef,
    semanticNonNull: true,
    description:
      'The account that this gateway works for. Costs 1 upstream call, then none while cached.',
    resolve: (_root, _args, { links }) => links.read(account),
  }),
);

const UpdateAccountInput = builder.inputType('UpdateAccountInput', {
  description:
    'What to change of the account: at least one of the two. What is left out, or null, stays as it is.',
  fields: (t) => ({
    email: t.string({ description: 'Address for logging in and for notices.' }),
    password: t.string({ description: 'The new password, of at least 5 characters.' }),
  }),
});

builder.mutationField('updateAccount', (t) =>
  t.field({
    ...resultOf(AccountRef, 'UpdateAccountResult'),
    description:
      'Changes how the owner of this gateway’s API key logs in. Costs 1 upstream call, and 1 more when anything but a changed `email` is selected.',
    args: {
      input: t.arg({ type: UpdateAccountInput, required: true, description: 'What to change.' }),
    },
    resolve: (_root, { input }, { links }) => {
      const checks = new InputChecks('input');
      checks.anyGiven({ email: input.email, password: input.password });
      checks.email('email', input.email);
      checks.password('password', input.password);
      checks.done();
      return links.write(updateAccount(input));
    },
  }),
);
