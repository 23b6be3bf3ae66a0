import { pageDecoder } from '../../upstream/decode/page.ts';
import { DecodeError, type RowReader, readSingle } from '../../upstream/decode/row-reader.ts';
import type { Call, Known, List, Read, Row, Write } from '../../upstream/request.ts';
import { touches } from '../touches.ts';
import { given, openWritten, upstreamTime } from '../written.ts';
import { type Account, decodeAccount } from './account.ts';

/**
 * An account as an administrator sees it. Leaves out its API key on purpose: decoded rows are cached.
 * Implements: Link API > Resources > User.
 */
export interface User extends Account, Row {
  readonly planId: number | null;
}

/** The category of users to list. */
export type UserFilter = 'ADMIN' | 'FREE' | 'PRO';

/** @throws DecodeError when the user has no id. */
function decodeUser(row: RowReader): User {
  return { ...decodeAccount(row), planId: row.integer('planid') };
}

/**
 * One user; `null` when there is none of this id. For administrators only. 1 upstream call.
 * Implements: Link API > Users > Get a user.
 */
export function user(id: number): Read<User | null> {
  return {
    resource: 'users',
    // Writes that may be about any user touch `user`.
    tags: ['user', `user:${id}`],
    method: 'GET',
    path: `/api/user/${id}`,
    about: id,
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
 * A user's API key; `null` when the upstream shows none. A secret, hence a `Call` and not a `Read`:
 * never shared, never cached. For administrators only. 1 upstream call.
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

/** The account to open; without a `planId` the upstream chooses the plan. */
export interface CreateUser {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  readonly planId?: number | undefined;
  /** When the plan ends, as ISO 8601. */
  readonly expiration?: string | null | undefined;
}

/**
 * Opens an account. For administrators only. 1 upstream call.
 * Implements: Link API > Users > POST /api/user/add.
 */
export function createUser(input: CreateUser): Write<Known<User>> {
  const { username, email, password, planId, expiration } = input;
  return {
    method: 'POST',
    path: '/api/user/add',
    body: ({ timeZone }) =>
      given({
        username,
        email,
        password,
        planid: planId,
        expiration: upstreamTime(expiration, timeZone),
      }),
    decode(body, context) {
      const row = openWritten(body, 'users', context);
      const id = row.integer('id', 'userid');
      if (id === null || id < 1) throw new DecodeError('users.id', 'an integer');
      return {
        id,
        email: row.text('email') ?? email,
        username: row.text('username') ?? username,
        planId,
        expires: expiration ?? undefined,
      };
    },
    touches: (made) => touches.createUser({ id: made?.id }),
    check: 'Query.users',
  };
}

/**
 * Closes an account. For administrators only. 1 upstream call.
 * Implements: Link API > Users > DELETE /api/user/:id/delete.
 */
export function deleteUser(id: number): Write<{ readonly id: number }> {
  return {
    method: 'DELETE',
    path: `/api/user/${id}/delete`,
    decode: () => ({ id }),
    touches: () => touches.deleteUser({ id }),
    check: 'Query.user',
  };
}
