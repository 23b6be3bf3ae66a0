import type { Call, List, Read, Row } from '../upstream/call.ts';
import { type RowReader, readSingle } from '../upstream/decode.ts';
import { pageDecoder } from '../upstream/page.ts';
import { type Account, decodeAccount } from './account.ts';

/**
 * An account as an administrator sees it. Its API key is left out on purpose: what is decoded may be
 * kept in a cache. Implements: Link API > Resources > User.
 */
export interface User extends Account, Row {
  readonly planId: number | null;
}

export type UserFilter = 'ADMIN' | 'FREE' | 'PRO';

/** @throws DecodeError when the user has no id. */
export function decodeUser(row: RowReader): User {
  return { ...decodeAccount(row), planId: row.integer('planid') };
}

/**
 * One user; `null` when there is none of this id. For administrators only. 1 upstream call.
 * Implements: Link API > Users > Get a user.
 */
export function user(id: number): Read<User | null> {
  return {
    resource: 'users',
    tags: [`user:${id}`],
    method: 'GET',
    path: `/api/user/${id}`,
    absentIsNull: true,
    decode(body, context) {
      const row = readSingle(body, ['data', 'user'], 'users', context);
      return row && decodeUser(row);
    },
  };
}

/**
 * The users of one category, or those the upstream finds for an email address, or all. For
 * administrators only. 1 upstream call.
 * Implements: Link API > Users > List users.
 */
export function users(filter?: UserFilter | null, email?: string | null): List<User> {
  const query: Record<string, string> = {};
  const address = email?.trim();
  if (filter) query['filter'] = filter.toLowerCase();
  if (address) query['email'] = address;
  return {
    resource: 'users',
    tags: ['users'],
    path: '/api/users',
    ...(filter || address ? { query } : {}),
    paged: false,
    decode: decodeUsers,
    single: user,
  };
}

const decodeUsers = pageDecoder({
  resource: 'users',
  keys: ['users'],
  decodeRow: decodeUser,
});

/**
 * A user's API key: a secret, so a call and no read, never shared and never kept; `null` when the
 * upstream shows none. For administrators only. 1 upstream call.
 * Implements: Link API > Users > Get a user.
 */
export function userApiKey(id: number): Call<string | null> {
  return {
    method: 'GET',
    path: `/api/user/${id}`,
    decode(body, context) {
      const row = readSingle(body, ['data', 'user'], 'users', context);
      return row?.text('apikey') || null;
    },
  };
}
