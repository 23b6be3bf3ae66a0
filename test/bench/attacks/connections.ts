import { createHmac, randomBytes } from 'node:crypto';
import type { Attack } from './attack.ts';
import { sendAll, times } from './target.ts';

const KB = 1024;
const AT_ONCE = 1000;
const SECRET = 'shared-with-the-identity-provider';

/** A token of the provider, or one that says so. */
function jwt(claims: object, secret: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const claims = { iss: 'provider', aud: 'gateway', exp: 4_000_000_000 };
const account = '{ account { username } }';

/** Attacks by connections and heads, most of them without any credential. */
export const connectionAttacks: readonly Attack[] = [
  {
    name: 'idle',
    about: 'A thousand connections on which nothing is sent.',
    mayCall: 0,
    connections: { count: AT_ONCE, mayHoldBytes: 32 * KB },
    async run(target) {
      await target.openMany(AT_ONCE, () => '');
      await target.wait(1500);
    },
  },
  {
    name: 'slow-heads',
    about: 'Five hundred connections send a line of a head every tenth of a second.',
    mayCall: 0,
    connections: { count: 500, mayHoldBytes: 64 * KB },
    async run(target) {
      const sockets = await target.openMany(
        500,
        () => 'POST /graphql HTTP/1.1\r\nHost: localhost\r\n',
      );
      for (let line = 0; line < 20; line += 1) {
        for (const socket of sockets) socket.write(`x-line-${line}: ${'x'.repeat(100)}\r\n`);
        await target.wait(100);
      }
    },
  },
  {
    name: 'slow-bodies',
    about: 'Two hundred operations whose bodies stop after a byte.',
    mayCall: 0,
    connections: { count: 200, mayHoldBytes: 64 * KB },
    async run(target) {
      const head =
        'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer attacker\r\nContent-Length: 1000000\r\n\r\n{';
      await target.openMany(200, () => head);
      await target.wait(2000);
    },
  },
  {
    name: 'large-bodies',
    about: 'Two hundred operations of a megabyte each that lack their last byte.',
    mayCall: 0,
    // What one caller may have under way, and what is read to be thrown away.
    connections: { count: 200, mayHoldBytes: 640 * KB },
    async run(target) {
      const head =
        'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer attacker\r\nContent-Length: 1000000\r\n\r\n';
      const body = 'x'.repeat(999_999);
      await target.openMany(200, () => head + body);
      await target.wait(2000);
    },
  },
  {
    name: 'tokens',
    about: 'A thousand requests at once with tokens that nobody has.',
    mayCall: 0,
    async run(target) {
      const token = () => randomBytes(24).toString('base64url');
      await sendAll(2 * AT_ONCE, AT_ONCE, () => target.ask(account, { token: token() }));
    },
  },
  {
    name: 'jwts',
    about:
      'A thousand requests at once with tokens that somebody else has signed, some of them 8 kB long.',
    env: {
      AUTH_MODE: 'jwt',
      AUTH_JWT_SECRET: SECRET,
      AUTH_JWT_ISSUER: claims.iss,
      AUTH_JWT_AUDIENCE: claims.aud,
    },
    readerToken: jwt({ ...claims, sub: 'reader', roles: ['viewer'] }, SECRET),
    mayCall: 0,
    async run(target) {
      const forged = times(AT_ONCE, (index) =>
        jwt({ ...claims, sub: `${index}${'x'.repeat(index % 2 ? 6000 : 5)}` }, 'another secret'),
      );
      await sendAll(2 * AT_ONCE, AT_ONCE, (index) =>
        target.ask(account, { token: forged[index % AT_ONCE] ?? '' }),
      );
    },
  },
  {
    name: 'heads',
    about: 'Four hundred heads as large as Node takes, in one line and in 1,500, and larger ones.',
    mayCall: 0,
    async run(target) {
      const few = { 'x-large': 'x'.repeat(15_000) };
      const many = Object.fromEntries(times(1500, (index) => [`a${index}`, 'x']));
      const larger = { 'x-large': 'x'.repeat(40_000) };
      const forms = [few, many, larger];
      await sendAll(600, 50, (index) => target.ask(account, { headers: forms[index % 3] ?? {} }));
    },
  },
];
