import { openSingle, pageDecoder } from '../../upstream/decode/envelope.ts';
import {
  DecodeError,
  integer,
  type RowOf,
  readField,
  readRow,
  text,
} from '../../upstream/decode/fields.ts';
import type { Call, Known, List, Read, Row, Write } from '../../upstream/request.ts';
import { creation } from '../evidence.ts';
import { sameEmail, sameText } from '../likeness.ts';
import { touches } from '../touches.ts';
import { given, openWritten, removal, upstreamTime } from '../written.ts';
import { accountFields } from './account.ts';

const fields = { ...accountFields, planId: integer('planid') };

/**
 * An account as an administrator sees it. Leaves out its API key on purpose: decoded rows are cached.
 * Implements: Link API > Resources > User.
 */
export type User = RowOf<typeof fields>;

/** The category of users to list. */
export type UserFilter = 'ADMIN' | 'FREE' | 'PRO';

/**
 * One user; `null` if it does not exist. For administrators only. 1 upstream request.
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
      const row = openSingle(body, ['data', 'user'], 'users', context);
      return row && readRow(fields, row);
    },
  };
}

/**
 * The users of one kind, or those the upstream finds for an email address, or all. For administrators only. 1
 * upstream request.
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
  fields,
});

/**
 * A user's API key; `null` if the upstream sends none. A secret, hence a `Call` and not a `Read`: never shared,
 * never cached. For administrators only. 1 upstream request.
 * Implements: Link API > Users > Get a user.
 */
export function userApiKey(id: number): Call<string | null> {
  return {
    method: 'GET',
    path: `/api/user/${id}`,
    decode(body, context) {
      const row = openSingle(body, ['data', 'user'], 'users', context);
      return (row && readField(text('apikey'), row)) || null;
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
 * Creates a user. For administrators only. 1 upstream request.
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
      const id = readField(integer('id', 'userid'), row);
      if (id === null || id < 1) throw new DecodeError('users.id', 'an integer');
      return {
        id,
        email: readField(text('email'), row) ?? email,
        username: readField(text('username'), row) ?? username,
        planId,
        expires: expiration ?? undefined,
      };
    },
    touches: (made) => touches.createUser({ id: made?.id }),
    check: 'Query.users',
    evidence: creation(
      users(null, email),
      { email: sameEmail(email), username: sameText(username, username.toLowerCase()) },
      { createdAt: ({ registered }) => registered, unique: 'email' },
    ),
  };
}

/**
 * Deletes a user. For administrators only. 1 upstream request.
 * Implements: Link API > Users > DELETE /api/user/:id/delete.
 */
export function deleteUser(id: number): Write<Row> {
  return removal('/api/user', id, {
    touches: () => touches.deleteUser({ id }),
    check: 'Query.user',
    row: `user:${id}`,
  });
}
