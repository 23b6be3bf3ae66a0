import { openSingle } from '../../upstream/decode/envelope.ts';
import {
  choice,
  DecodeError,
  integer,
  type RowOf,
  readField,
  readRow,
  text,
  time,
} from '../../upstream/decode/fields.ts';
import type { Read, Write } from '../../upstream/request.ts';
import { repeatable } from '../evidence.ts';
import { touches } from '../touches.ts';
import { given, openWritten, readKnown } from '../written.ts';

/** Kind of an account; `null` for a value that the documentation does not have. */
export type AccountStatus = 'FREE' | 'PRO' | 'ADMIN';

/** Account kinds by the value that the upstream sends. */
const accountStatuses: Readonly<Record<string, AccountStatus>> = {
  free: 'FREE',
  pro: 'PRO',
  admin: 'ADMIN',
};

/** The known members of any account. */
export const accountFields = {
  email: text('email'),
  username: text('username'),
  // A URL.
  avatar: text('avatar'),
  status: choice(accountStatuses, 'status'),
  // When the plan ends; `null` when it does not.
  expires: time('expires'),
  registered: time('registered'),
};

/** The owner of an API key. Implements: Link API > Resources > Account. */
export type Account = RowOf<typeof accountFields>;

/** An account of which some members are known. After a write, its id may be unknown too. */
export type KnownAccount = { readonly [Member in keyof Account]?: Account[Member] | undefined };

/**
 * The account whose key the request carries. 1 upstream request.
 * Implements: Link API > Account > Get account.
 */
export const account: Read<Account> = {
  resource: 'account',
  tags: ['account'],
  method: 'GET',
  path: '/api/account',
  decode(body, context) {
    const row = openSingle(body, ['data'], 'account', context);
    if (!row) throw new DecodeError('account.data', 'an account');
    return readRow(accountFields, row);
  },
};

/** Changes to the account; missing and `null` members stay unchanged. */
export interface UpdateAccount {
  readonly email?: string | null | undefined;
  /** A secret: sent, and stored nowhere. */
  readonly password?: string | null | undefined;
}

/**
 * Changes the email address or the password of the account whose key the request carries. 1 upstream request.
 * Implements: Link API > Account > PUT /api/account/update.
 */
export function updateAccount(input: UpdateAccount): Write<KnownAccount> {
  return {
    method: 'PUT',
    path: '/api/account/update',
    body: given({ email: input.email, password: input.password }),
    decode: (body, context) => {
      const row = openWritten(body, 'account', context);
      const id = readField(integer('id'), row) ?? undefined;
      return { id, ...readKnown(accountFields, row, { email: input.email }) };
    },
    touches: touches.updateAccount,
    // No read shows a password.
    check: input.email == null ? 'whether login with the new password works' : 'Query.account',
    row: 'account',
    evidence: repeatable,
  };
}
