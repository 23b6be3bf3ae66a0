import { DecodeError, type RowReader, readSingle } from '../../upstream/decode/row-reader.ts';
import type { Read, Write } from '../../upstream/request.ts';
import { touches } from '../touches.ts';
import { given, openWritten } from '../written.ts';

/** What an account may do; `null` stands for a word that the documents do not have. */
export type AccountStatus = 'FREE' | 'PRO' | 'ADMIN';

/** Account statuses and categories by the word the upstream uses for them. */
const accountStatuses: Readonly<Record<string, AccountStatus>> = {
  free: 'FREE',
  pro: 'PRO',
  admin: 'ADMIN',
};

/** The owner of an API key. Implements: Link API > Resources > Account. */
export interface Account {
  readonly id: number;
  readonly email: string | null;
  readonly username: string | null;
  /** A URL. */
  readonly avatar: string | null;
  readonly status: AccountStatus | null;
  /** When the plan ends; `null` when it does not. */
  readonly expires: string | null;
  readonly registered: string | null;
}

/** An account of which some members are known. After a write, its id may be unknown too. */
export type KnownAccount = { readonly [Member in keyof Account]?: Account[Member] | undefined };

/** @throws DecodeError when the account has no id. */
export function decodeAccount(row: RowReader): Account {
  return {
    id: row.id(),
    email: row.text('email'),
    username: row.text('username'),
    avatar: row.text('avatar'),
    status: row.choice(accountStatuses, 'status'),
    expires: row.time('expires'),
    registered: row.time('registered'),
  };
}

/**
 * The account whose key the request carries. 1 upstream call.
 * Implements: Link API > Account > Get account.
 */
export const account: Read<Account> = {
  resource: 'account',
  tags: ['account'],
  method: 'GET',
  path: '/api/account',
  decode(body, context) {
    const row = readSingle(body, ['data'], 'account', context);
    if (!row) throw new DecodeError('account.data', 'an account');
    return decodeAccount(row);
  },
};

/** What to change of the account; what is absent or `null` stays as it is. */
export interface UpdateAccount {
  readonly email?: string | null | undefined;
  /** A secret: sent, and stored nowhere. */
  readonly password?: string | null | undefined;
}

/**
 * Changes the address or the password of the account whose key the request carries. 1 upstream call.
 * Implements: Link API > Account > PUT /api/account/update.
 */
export function updateAccount(input: UpdateAccount): Write<KnownAccount> {
  return {
    method: 'PUT',
    path: '/api/account/update',
    body: given({ email: input.email, password: input.password }),
    decode: (body, context) => decodeWritten(openWritten(body, 'account', context), input),
    touches: touches.updateAccount,
    // No read shows a password.
    check: input.email == null ? 'whether the new password logs in' : 'Query.account',
  };
}

/** Members from a write's answer, else from its input; the others stay unknown. */
function decodeWritten(row: RowReader, input: UpdateAccount): KnownAccount {
  return {
    id: row.integer('id') ?? undefined,
    email: row.has('email') ? row.text('email') : (input.email ?? undefined),
    username: row.has('username') ? row.text('username') : undefined,
    avatar: row.has('avatar') ? row.text('avatar') : undefined,
    status: row.has('status') ? row.choice(accountStatuses, 'status') : undefined,
    expires: row.has('expires') ? row.time('expires') : undefined,
    registered: row.has('registered') ? row.time('registered') : undefined,
  };
}
