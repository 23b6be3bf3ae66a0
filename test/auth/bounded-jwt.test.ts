import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Authenticate } from '../../src/auth/authenticate.ts';
import { createAuthenticator } from '../../src/auth/authenticator.ts';
import type { Viewer } from '../../src/auth/viewer.ts';
import { createDigest } from '../../src/digest.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const secret = 'a secret of more than 32 letters'.replaceAll(' ', '-');
const clock = new VirtualClock();
const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A token of a caller; `serial` makes it differ from others of the same. */
function tokenOf(sub: string, serial: number, key = secret): string {
  const claims = {
    iss: 'https://login.example',
    aud: 'links-market-gateway',
    sub,
    roles: ['viewer'],
    exp: clock.wall() / 1000 + 3600,
    jti: String(serial),
  };
  const signed = `${encoded({ alg: 'HS256' })}.${encoded(claims)}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

describe('the memory for verified tokens', () => {
  let authenticate: Authenticate;
  beforeEach(() => {
    authenticate = createAuthenticator(
      {
        mode: 'jwt',
        keys: { secret },
        issuer: 'https://login.example',
        audience: 'links-market-gateway',
        rolesClaim: 'roles',
        classClaim: '',
      },
      {
        classes: new Map(),
        clock,
        digest: createDigest('a secret'),
        complain: () => {},
        rejected: () => {},
        fetch,
      },
    );
  });

  const present = (token: string): Viewer | Promise<Viewer> =>
    authenticate({ authorization: `Bearer ${token}`, address: '127.0.0.1' });

  /** Presents many tokens, some at a time, and returns how many of them were let in. */
  async function presentAll(tokens: readonly string[]): Promise<number> {
    let admitted = 0;
    for (let at = 0; at < tokens.length; at += 500) {
      const some = await Promise.allSettled(
        tokens.slice(at, at + 500).map(async (token) => present(token)),
      );
      admitted += some.filter(({ status }) => status === 'fulfilled').length;
    }
    return admitted;
  }

  /** How many of some tokens are remembered, counted from the last to the first that is not. */
  function remembered(tokens: readonly string[]): number {
    const at = tokens.findLastIndex((token) => {
      const viewer = present(token);
      if (viewer instanceof Promise) viewer.catch(() => {});
      return viewer instanceof Promise;
    });
    return tokens.length - 1 - at;
  }

  const many = (count: number, sub: (serial: number) => string, key?: string): string[] =>
    Array.from({ length: count }, (_, serial) => tokenOf(sub(serial), serial, key));

  /** Of callers with names that are as long as they may be. */
  const long = (serial: number): string => `caller ${serial}`.padEnd(1024, '.');

  it('holds those of ten thousand callers', async () => {
    const tokens = many(10_000, (serial) => `caller ${serial}`);
    expect(await presentAll(tokens)).toBe(10_000);
    expect(remembered(tokens)).toBe(10_000);
  });

  it('holds fewer with long names, and those that were used last', async () => {
    const tokens = many(4000, long);
    const [first = '', second = ''] = tokens;
    for (let at = 0; at < 4000; at += 500) {
      expect(await presentAll([first, ...tokens.slice(at, at + 500)])).toBe(501);
    }
    expect(present(first)).toEqual({ name: long(0), role: 'viewer' });
    expect(present(second)).toBeInstanceOf(Promise);
    expect(remembered(tokens)).toBeGreaterThan(2500);
    expect(remembered(tokens)).toBeLessThan(3500);
  });

  it('holds a thousand of one caller, and loses none of others for them', async () => {
    const others = many(2500, long);
    await presentAll(others);
    const greedy = many(4000, () => 'greedy');
    expect(await presentAll(greedy)).toBe(4000);
    expect(remembered(greedy)).toBe(1000);
    expect(remembered(others)).toBe(2500);
  });

  it('loses none for tokens that are not valid, however many', async () => {
    const valid = many(3000, long);
    await presentAll(valid);
    const forged = many(2000, (serial) => `caller ${serial}`, 'another secret');
    expect(await presentAll(forged)).toBe(0);
    expect(remembered(valid)).toBe(3000);
  });
});
