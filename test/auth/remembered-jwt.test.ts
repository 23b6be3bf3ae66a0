import { createHmac } from 'node:crypto';
import { array, assert, asyncProperty, constantFrom, oneof, record } from 'fast-check';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Authenticate } from '../../src/auth/authenticate.ts';
import { createAuthenticator } from '../../src/auth/authenticator.ts';
import type { Viewer } from '../../src/auth/viewer.ts';
import { createDigest } from '../../src/digest.ts';
import { rounds } from '../support/rounds.ts';
import { QuickClock } from '../support/virtual-clock.ts';

const issuer = 'https://login.example';
const audience = 'links-market-gateway';
const TOLERANCE = 5;
const REMEMBERED_MS = 600_000;
const secret = 'a secret of more than 32 letters'.replaceAll(' ', '-');

const epoch = Date.UTC(2030, 0, 1) / 1000;

const tokens: Record<string, string> = { 'that is none': 'abc.def.ghi' };

beforeAll(async () => {
  const sign = async (name: string, claims: JWTPayload = {}, key = secret): Promise<void> => {
    tokens[name] = await new SignJWT({
      iss: issuer,
      aud: audience,
      sub: 'mia',
      roles: ['viewer'],
      exp: epoch + 30 * 86_400,
      ...claims,
    })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(key));
  };
  await sign('of a viewer');
  await sign('of the same as an admin', { roles: ['admin'] });
  await sign('of another', { sub: 'tom' });
  await sign('that expires soon', { exp: epoch + 60 });
  await sign('that is valid for a while', { nbf: epoch + 30, exp: epoch + 90 });
  await sign('with a fraction of a second', { nbf: epoch + 0.5, exp: epoch + 60.5 });
  await sign('of another key', {}, `${secret}.`);
  await sign('for another audience', { aud: 'another' });
});

class World {
  readonly clock = new QuickClock();
  readonly #authenticate: Authenticate = createAuthenticator(
    {
      mode: 'jwt',
      keys: { secret },
      issuer,
      audience,
      rolesClaim: 'roles',
      classClaim: '',
    },
    {
      classes: new Map(),
      clock: this.clock,
      digest: createDigest('a secret'),
      complain: () => {},
      rejected: () => {},
      fetch,
    },
  );

  present(token: string): Viewer | Promise<Viewer> {
    return this.#authenticate({ authorization: `Bearer ${token}`, address: '127.0.0.1' });
  }

  async verified(token: string): Promise<string> {
    try {
      const { payload } = await jwtVerify(token, new TextEncoder().encode(secret), {
        algorithms: ['HS256'],
        issuer,
        audience,
        clockTolerance: TOLERANCE,
        currentDate: new Date(this.clock.wall()),
      });
      return `${payload.sub}, ${(payload['roles'] as string[])[0]}`;
    } catch (error) {
      return error instanceof errors.JWTExpired
        ? 'The token has expired.'
        : 'The token is not valid.';
    }
  }
}

async function outcomeOf(viewer: Viewer | Promise<Viewer>): Promise<string> {
  try {
    const { name, role } = await viewer;
    return `${name}, ${role}`;
  } catch (error) {
    return (error as Error).message;
  }
}

it('A remembered token is valid exactly as long as one that is verified each time', async () => {
  const names = Object.keys(tokens);
  const step = oneof(
    {
      arbitrary: record({ present: array(constantFrom(...names), { minLength: 1, maxLength: 4 }) }),
      weight: 4,
    },
    record({ pass: constantFrom(0.4, 1, 29, 30, 65.6, 599, 600) }),
    record({ jump: constantFrom(-3600, -60, -1, 1, 60, 3600) }),
  );
  const verify = vi.spyOn(crypto.subtle, 'verify');
  await assert(
    asyncProperty(array(step, { minLength: 4, maxLength: 30 }), async (steps) => {
      const world = new World();
      /** When each token was found valid. */
      const known = new Map<string, number>();
      for (const step of steps) {
        if ('pass' in step) await world.clock.advance(step.pass * 1000);
        else if ('jump' in step) world.clock.jumpWall(step.jump * 1000);
        else {
          const batch = step.present.map((name) => tokens[name] ?? '');
          const expected = await Promise.all(batch.map((token) => world.verified(token)));
          const now = world.clock.now();
          const isKnown = batch.map(
            (token, at) =>
              now - (known.get(token) ?? Number.NEGATIVE_INFINITY) < REMEMBERED_MS &&
              !expected[at]?.startsWith('The token'),
          );
          verify.mockClear();
          const viewers = batch.map((token) => world.present(token));
          expect(viewers.map((viewer) => !(viewer instanceof Promise))).toEqual(isKnown);
          expect(await Promise.all(viewers.map(outcomeOf))).toEqual(expected);
          const unknown = new Set(batch.filter((_, at) => !isKnown[at]));
          expect(verify.mock.calls.length).toBeLessThanOrEqual(unknown.size);
          for (const [at, token] of batch.entries()) {
            if (expected[at]?.startsWith('The token')) known.delete(token);
            else if (!isKnown[at]) known.set(token, now);
          }
        }
      }
    }),
    { numRuns: rounds(40) },
  );
});

/** Signed without a wait, for thousands; `serial` makes it differ from others of the same caller. */
function tokenOf(sub: string, serial: number, key = secret): string {
  const claims = { iss: issuer, aud: audience, sub, roles: ['viewer'], exp: epoch + 3600 };
  const parts = [{ alg: 'HS256' }, { ...claims, jti: String(serial) }];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signature = createHmac('sha256', key).update(signed.join('.')).digest('base64url');
  return [...signed, signature].join('.');
}

describe('the memory for verified tokens', () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });

  /** Presents many tokens, some at a time, and returns how many of them were let in. */
  async function presentAll(tokens: readonly string[]): Promise<number> {
    let admitted = 0;
    for (let at = 0; at < tokens.length; at += 500) {
      const some = await Promise.allSettled(
        tokens.slice(at, at + 500).map(async (token) => world.present(token)),
      );
      admitted += some.filter(({ status }) => status === 'fulfilled').length;
    }
    return admitted;
  }

  /** How many of some tokens are remembered, counted from the last to the first that is not. */
  function remembered(tokens: readonly string[]): number {
    const at = tokens.findLastIndex((token) => {
      const viewer = world.present(token);
      if (viewer instanceof Promise) viewer.catch(() => {});
      return viewer instanceof Promise;
    });
    return tokens.length - 1 - at;
  }

  const many = (count: number, sub: (serial: number) => string, key?: string): string[] =>
    Array.from({ length: count }, (_, serial) => tokenOf(sub(serial), serial, key));

  /** Of callers with names that are as long as they may be. */
  const long = (serial: number): string => `caller ${serial}`.padEnd(1024, '.');

  it('holds fewer with long names, and those that were used last', async () => {
    const tokens = many(4000, long);
    const [first = '', second = ''] = tokens;
    for (let at = 0; at < 4000; at += 500) {
      expect(await presentAll([first, ...tokens.slice(at, at + 500)])).toBe(501);
    }
    expect(world.present(first)).toEqual({ name: long(0), role: 'viewer' });
    expect(world.present(second)).toBeInstanceOf(Promise);
    expect(remembered(tokens)).toBeGreaterThan(2500);
    expect(remembered(tokens)).toBeLessThan(3500);
  });

  it('holds a thousand of one caller, and loses none of others for them', async () => {
    const others = many(200, long);
    await presentAll(others);
    const greedy = many(1500, () => 'greedy');
    expect(await presentAll(greedy)).toBe(1500);
    expect(remembered(greedy)).toBe(1000);
    expect(remembered(others)).toBe(200);
  });

  it('loses none for tokens that are not valid, however many', async () => {
    const valid = many(2500, long);
    await presentAll(valid);
    const forged = many(900, long, 'another secret');
    expect(await presentAll(forged)).toBe(0);
    expect(remembered(valid)).toBe(2500);
  });
});
