import { array, assert, asyncProperty, constantFrom, oneof, record } from 'fast-check';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
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

/** The beginning of the virtual time, in seconds since the epoch. */
const epoch = Date.UTC(2030, 0, 1) / 1000;

/** Every token that is presented, by what is special about it. */
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

afterEach(() => {
  vi.restoreAllMocks();
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

  /** What a token is, verified in the plainest way. */
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

/** What became of a token, in words. */
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
    { numRuns: rounds(100) },
  );
});

it('A token is verified once, however many come before the first is known', async () => {
  const verify = vi.spyOn(crypto.subtle, 'verify');
  const world = new World();
  const token = tokens['of a viewer'] ?? '';
  const viewers = await Promise.all(Array.from({ length: 100 }, async () => world.present(token)));
  expect(new Set(viewers)).toEqual(new Set([{ name: 'mia', role: 'viewer' }]));
  expect(verify).toHaveBeenCalledTimes(1);
  expect(world.present(token)).toEqual({ name: 'mia', role: 'viewer' });
});
