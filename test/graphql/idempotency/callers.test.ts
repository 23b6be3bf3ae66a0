import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import type { Role } from '../../../src/auth/viewer.ts';
import { type Door, openDoor } from '../../support/door.ts';
import { tokenFile } from '../../support/folder.ts';
import { askRaw } from '../../support/raw-reply.ts';
import { askKeyed } from './keyed.ts';

let door: Door;

const KEY = '8e03978e-40d5-43dd-bc93-6894a57f9324';
const CREATE = 'mutation { createChannel(input: { name: "Shared" }) { ... on Channel { id } } }';
const OTHER = 'mutation { createChannel(input: { name: "Another" }) { ... on Channel { id } } }';

describe('the same key', () => {
  it('of two tokens is two keys', async () => {
    const file = tokenFile(
      { name: 'one', role: 'editor', token: 'token-of-one' },
      { name: 'two', role: 'editor', token: 'token-of-two' },
    );
    door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
    const ask = (name: string, query: string) =>
      askKeyed(door, KEY, query, { token: `token-of-${name}` });
    expect((await ask('one', CREATE)).sent).toBe(1);
    expect(await ask('two', OTHER)).toMatchObject({ errors: [], sent: 1 });
    expect(await ask('one', CREATE)).toMatchObject({ sent: 0, replayed: 'true' });
    expect(await ask('two', OTHER)).toMatchObject({ sent: 0, replayed: 'true' });
  });

  it('of callers without a token is one key, whatever their address', async () => {
    door = await openDoor({ AUTH_MODE: 'none', HOST: '0.0.0.0' });
    const from = async (localAddress: string) => {
      const { headers, text } = await askRaw(`${door.url}/graphql`, {
        localAddress,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': KEY },
        body: JSON.stringify({ query: CREATE }),
      });
      const { data } = JSON.parse(text) as { data: unknown };
      return { data, replayed: headers['idempotency-replayed'] };
    };
    const first = await from('127.0.0.1');
    expect(first.replayed).toBeUndefined();
    expect(await from('127.0.0.2')).toEqual({ data: first.data, replayed: 'true' });
    expect(door.calls()).toBe(1);
    expect(door.log()).toContain('"caller":"127.0.0.2"');
  });

  it('of two API keys is two keys', async () => {
    door = await openDoor({ AUTH_MODE: 'passthrough' });
    const { admin, pro } = door.sandbox.links.keys;
    const ask = (token: string, query: string) => askKeyed(door, KEY, query, { token });
    expect((await ask(admin, CREATE)).sent).toBe(1);
    expect(await ask(pro, OTHER)).toMatchObject({ errors: [], sent: 1 });
    expect(await ask(admin, CREATE)).toMatchObject({ sent: 0, replayed: 'true' });
    expect(await ask(pro, OTHER)).toMatchObject({ sent: 0, replayed: 'true' });
    for (const key of [admin, pro]) expect(door.log()).not.toContain(key);
  });
});

it('a key is not used up by a caller without the role', async () => {
  const secret = 'a-secret-of-more-than-32-characters';
  door = await openDoor({
    AUTH_MODE: 'jwt',
    AUTH_JWT_ISSUER: 'test',
    AUTH_JWT_AUDIENCE: 'test',
    AUTH_JWT_SECRET: secret,
  });
  const as = async (subject: string, role: Role) =>
    new SignJWT({ roles: [role] })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer('test')
      .setAudience('test')
      .setSubject(subject)
      .setExpirationTime(Date.UTC(2031, 0, 1) / 1000)
      .sign(new TextEncoder().encode(secret));
  const ask = async (token: Promise<string>, query = CREATE) =>
    askKeyed(door, KEY, query, { token: await token });
  expect(await ask(as('mia', 'viewer'))).toMatchObject({ code: 'FORBIDDEN', sent: 0, reports: [] });
  expect(await ask(as('mia', 'editor'), OTHER)).toMatchObject({ errors: [], sent: 1 });
  // With another token of the same subject.
  expect(await ask(as('mia', 'admin'), OTHER)).toMatchObject({ sent: 0, replayed: 'true' });
  expect(await ask(as('tom', 'editor'))).toMatchObject({ errors: [], sent: 1 });
  // Who may write no longer does not get the result either.
  expect(await ask(as('mia', 'viewer'), OTHER)).toMatchObject({ code: 'FORBIDDEN', sent: 0 });
});
