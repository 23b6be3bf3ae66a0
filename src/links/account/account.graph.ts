import { builder, databaseId } from '../../graph/builder.ts';
import { changeField } from '../../graph/change.ts';
import type { GraphContext } from '../../graph/context.ts';
import { enumOf, renamedTime } from '../../graph/fields.ts';
import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import {
  type Account,
  type AccountStatus,
  account,
  type KnownAccount,
  updateAccount,
} from './account.ts';

/** The type of `Account.status` and `User.status`. */
export const AccountStatusRef = enumOf<AccountStatus>('AccountStatus', 'The kind of an account.', {
  FREE: 'On a free plan.',
  PRO: 'On a paid plan.',
  ADMIN: 'An administrator, who can also manage plans and users.',
});

/** The type of `Query.account`. */
export const AccountRef = builder.objectRef<KnownAccount>('Account');

/** Resolves a member of the account: without a request if it is known, otherwise 1 for all members together. */
function ofAccount<Member extends keyof Account>(member: Member) {
  return (row: KnownAccount, _args: unknown, { links }: GraphContext): AtOnce<Account[Member]> => {
    const known = row[member];
    return known === undefined ? andThen(links.read(account), (read) => read[member]) : known;
  };
}

/** The id of an account: without a request if it is known, otherwise 1. */
export const accountId = ofAccount('id');

builder.node(AccountRef, {
  description: 'The link-management account that owns the API key.',
  id: { resolve: accountId, parse: Number },
  loadWithoutCache: async (id, { links }) => {
    const own = await links.read(account);
    return own.id === id ? own : null;
  },
  fields: (t) => ({
    databaseId: t.int({ ...databaseId, resolve: accountId }),
    email: t.string({
      description:
        'Email address for login and notifications; null if the API does not provide it.',
      resolve: ofAccount('email'),
    }),
    username: t.string({
      description: 'User name; null if the API does not provide it.',
      resolve: ofAccount('username'),
    }),
    avatar: t.string({
      description: 'URL of the profile picture; null if the API does not provide it.',
      resolve: ofAccount('avatar'),
    }),
    status: t.field({
      type: AccountStatusRef,
      description: 'Kind of the account; null if the API sends an unknown value.',
      resolve: ofAccount('status'),
    }),
    ...renamedTime(
      t,
      ['expiresAt', 'expires'],
      'Time at which the plan expires; null if it does not expire.',
      ofAccount('expires'),
    ),
    ...renamedTime(
      t,
      ['registeredAt', 'registered'],
      'Registration time; null if the API does not provide it.',
      ofAccount('registered'),
    ),
  }),
});

builder.queryField('account', (t) =>
  t.field({
    type: AccountRef,
    semanticNonNull: true,
    description: 'The account that owns the API key. Costs 1 upstream request if not cached.',
    resolve: (_root, _args, { links }) => links.read(account),
  }),
);

const UpdateAccountInput = builder.inputType('UpdateAccountInput', {
  description:
    'Changes to the account. At least one member is required. Omitted or null members stay unchanged.',
  fields: (t) => ({
    email: t.string({ description: 'New email address for login and notifications.' }),
    password: t.string({ description: 'New password, at least 5 characters.' }),
  }),
});

builder.mutationField('updateAccount', (t) =>
  changeField(t, AccountRef, {
    result: 'UpdateAccountResult',
    description:
      'Changes the email address or the password of the account that owns the API key. Costs 1 upstream request, plus a read of the account if any field other than a changed `email` is selected.',
    input: [UpdateAccountInput, 'The changes.'],
    check(checks, input) {
      checks.anyGiven({ email: input.email, password: input.password });
      checks.email('email', input.email);
      checks.password('password', input.password);
    },
    send: (input, { links }) => links.updateSingle(account, updateAccount(input)),
  }),
);
