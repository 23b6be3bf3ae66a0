import type { Read } from '../upstream/call.ts';
import { DecodeError, type RowReader, readSingle } from '../upstream/decode.ts';

export type AccountStatus = 'FREE' | 'PRO' | 'ADMIN';

/** Account statuses and categories by the word the upstream uses for them. */
export const accountStatuses: Readonly<Record<string, AccountStatus>> = {
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
