import { array, assert, asyncProperty, boolean, constantFrom, oneof, record } from 'fast-check';
import {
  createLocalJWKSet,
  errors,
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Authenticate } from '../../src/auth/authenticate.ts';
import { createAuthenticator } from '../../src/auth/authenticator.ts';
import type { Viewer } from '../../src/auth/viewer.ts';
import { createDigest } from '../../src/digest.ts';
import { rounds } from '../support/rounds.ts';
import { QuickClock } from '../support/virtual-clock.ts';

const issuer = 'https://login.example';
const audience = 'links-market-gateway';
const TOLERANCE = 5;

/** The beginning of the virtual time, in seconds since the epoch. */
const epoch = Date.UTC(2030, 0, 1) / 1000;
const DAY = 24 * 3600;

/** Every token that is presented, by what is special about it. */
const tokens: Record<string, string> = {};
/** Every key that is published. The provider gives `again` the `kid` of `one`. */
const published: Record<string, JWK> = {};

beforeAll(async () => {
  const [one, two, again] = await Promise.all([1, 2, 3].map(() => generateKeyPair('ES256')));
  const publish = async (name: string, pair: GenerateKeyPairResult | undefined, kid = name) => {
    published[name] = { ...(await exportJWK(pair?.publicKey as CryptoKey)), kid, alg: 'ES256' };
  };
  await publish('one', one);
  await publish('two', two);
  await publish('again', again, 'one');
  const sign = async (
    name: string,
    pair: GenerateKeyPairResult | undefined,
    claims: JWTPayload = {},
    kid: string | null = 'one',
  ): Promise<void> => {
    tokens[name] = await new SignJWT({
      iss: issuer,
      aud: audience,
      sub: 'mia',
      roles: ['viewer'],
      exp: epoch + 30 * DAY,
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', ...(kid === null ? {} : { kid }) })
      .sign(pair?.privateKey as CryptoKey);
  };
  await sign('of a viewer', one);
  await sign('of the same as an admin', one, { roles: ['admin'] });
  await sign('of another', one, { sub: 'tom' });
  await sign('that expires soon', one, { exp: epoch + 60 });
  await sign('that is valid for a while', one, { nbf: epoch + 30, exp: epoch + 90 });
  await sign('with a fraction of a second', one, { nbf: epoch + 0.5, exp: epoch + 60.5 });
  await sign('of the second key', two, {}, 'two');
  await sign('that names no key', one, {}, null);
  await sign('of the key that comes under the same name', again);
  await sign('of an unknown key', two, {}, 'three');
  await sign('for another audience', one, { aud: 'another' });
  tokens['that is none'] = 'abc.def.ghi';
});

/** A provider of keys, and an authenticator that asks it. */
class World {
  readonly clock = new QuickClock();
  keys: readonly JWK[] = [];
  isDown = false;
  fetched = 0;
  readonly authenticate: Authenticate = createAuthenticator(
    {
      mode: 'jwt',
      keys: { jwksUrl: 'https://login.example/keys' },
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
      fetch: async () => {
        this.fetched += 1;
        return this.isDown ? new Response('', { status: 503 }) : Response.json({ keys: this.keys });
      },
    },
  );

  present(token: string): Viewer | Promise<Viewer> {
    return this.authenticate({ authorization: `Bearer ${token}`, address: '127.0.0.1' });
  }
}

/** What became of a token, in words. */
async function outcomeOf(viewer: () => Viewer | Promise<Viewer>): Promise<string> {
  try {
    const { name, role } = await viewer();
    return `${name}, ${role}`;
  } catch (error) {
    return (error as Error).message;
  }
}

const INVALID = 'The token is not valid.';
const UNAVAILABLE = 'The keys of the identity provider are not available. Retry later.';

/** The same in the plainest way: every token is verified each time, with the keys that were fetched last. */
class Model {
  readonly world: World;
  fetched = 0;
  keys: readonly JWK[] = [];
  /** How often the keys were others than before. */
  revision = 0;
  loadedAt = Number.NEGATIVE_INFINITY;
  triedAt = Number.NEGATIVE_INFINITY;
  /** The tokens that were found valid, with the revision of the keys with which they were. */
  readonly remembered = new Map<string, number>();

  constructor(world: World) {
    this.world = world;
  }

  /** Tokens that come at once. One that is no JWT has no key looked for. */
  async present(batch: readonly string[]): Promise<string[]> {
    const now = this.world.clock.now();
    const seeking = batch.filter((token) => token !== tokens['that is none']);
    const all = (outcome: string): string[] => {
      for (const token of seeking) this.remembered.delete(token);
      return batch.map((token) => (seeking.includes(token) ? outcome : INVALID));
    };
    if (seeking.length === 0) return all(INVALID);
    if (now - this.loadedAt >= DAY * 1000) {
      if (now - this.triedAt < 1000 || !this.load()) return all(UNAVAILABLE);
    }
    const isDue = now - this.loadedAt >= 600_000;
    const outcomes = await Promise.all(batch.map((token) => this.verify(token)));
    if (now - this.triedAt >= 30_000 && (isDue || outcomes.includes(null))) {
      const isLoaded = this.load();
      // Only those whose key is not known wait for that.
      for (const [at, token] of batch.entries()) {
        outcomes[at] ??= isLoaded ? await this.verify(token) : UNAVAILABLE;
      }
    }
    return outcomes.map((outcome) => outcome ?? INVALID);
  }

  load(): boolean {
    this.fetched += 1;
    this.triedAt = this.world.clock.now();
    if (this.world.isDown) return false;
    this.loadedAt = this.triedAt;
    if (JSON.stringify(this.keys) !== JSON.stringify(this.world.keys)) this.revision += 1;
    this.keys = this.world.keys;
    return true;
  }

  /** `null` where its key is not known. */
  async verify(token: string): Promise<string | null> {
    const outcome = await this.outcomeOf(token);
    if (outcome === null || outcome.startsWith('The token')) this.remembered.delete(token);
    else this.remembered.set(token, this.revision);
    return outcome;
  }

  async outcomeOf(token: string): Promise<string | null> {
    try {
      const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: [...this.keys] }), {
        algorithms: ['ES256'],
        issuer,
        audience,
        clockTolerance: TOLERANCE,
        currentDate: new Date(this.world.clock.wall()),
      });
      return `${payload.sub}, ${(payload['roles'] as string[])[0]}`;
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return null;
      return error instanceof errors.JWTExpired ? 'The token has expired.' : INVALID;
    }
  }

  /** Whether a token was found valid with the keys that are known now, and is neither too old nor too young. */
  async mustKnow(token: string): Promise<boolean> {
    const { clock } = this.world;
    return (
      clock.now() - this.loadedAt < DAY * 1000 &&
      this.remembered.get(token) === this.revision &&
      (await this.outcomeOf(token))?.startsWith('The token') === false
    );
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a remembered token', () => {
  const names = [
    'of a viewer',
    'of the same as an admin',
    'of another',
    'that expires soon',
    'that is valid for a while',
    'with a fraction of a second',
    'of the second key',
    'that names no key',
    'of the key that comes under the same name',
    'of an unknown key',
    'for another audience',
    'that is none',
  ];
  const sets = [[], ['one'], ['two'], ['one', 'two'], ['again'], ['again', 'two']];
  const step = oneof(
    {
      arbitrary: record({ present: array(constantFrom(...names), { minLength: 1, maxLength: 4 }) }),
      weight: 4,
    },
    record({ pass: constantFrom(0.4, 1, 29, 30, 65.6, 599, 600, DAY - 1, DAY) }),
    record({ jump: constantFrom(-3600, -60, -1, 1, 60, 3600) }),
    record({ publish: constantFrom(...sets) }),
    record({ isDown: boolean() }),
  );

  it('is valid exactly as long as one that is verified each time, and verified no more often', async () => {
    const verify = vi.spyOn(crypto.subtle, 'verify');
    await assert(
      asyncProperty(array(step, { minLength: 4, maxLength: 30 }), async (steps) => {
        const world = new World();
        const model = new Model(world);
        world.keys = [published['one'] as JWK];
        for (const step of [{ present: ['of a viewer'] }, ...steps]) {
          if ('pass' in step) await world.clock.advance(step.pass * 1000);
          else if ('jump' in step) world.clock.jumpWall(step.jump * 1000);
          else if ('isDown' in step) world.isDown = step.isDown;
          else if ('publish' in step) {
            world.keys = step.publish.map((name) => published[name] as JWK);
          } else {
            const batch = step.present.map((name) => tokens[name] ?? '');
            const known = await Promise.all(batch.map((token) => model.mustKnow(token)));
            const expected = await model.present(batch);
            verify.mockClear();
            const viewers = batch.map((token) => {
              try {
                return { viewer: world.present(token) };
              } catch (error) {
                return { viewer: Promise.reject(error) };
              }
            });
            const outcomes = await Promise.all(
              viewers.map(({ viewer }) => outcomeOf(() => viewer)),
            );
            const verifications = verify.mock.calls.length;
            await world.clock.settle();
            expect([outcomes, world.fetched]).toEqual([expected, model.fetched]);
            expect(viewers.map(({ viewer }) => !(viewer instanceof Promise))).toEqual(known);
            const unknown = new Set(batch.filter((_, at) => !known[at]));
            expect(verifications).toBeLessThanOrEqual(unknown.size);
          }
        }
      }),
      { numRuns: rounds(100) },
    );
  });

  /** Has a step of every verification wait until it is let go on. */
  function hold(step: 'importKey' | 'verify'): { begun: () => number; go: () => void } {
    let go = (): void => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const real = crypto.subtle[step].bind(crypto.subtle) as (...all: unknown[]) => unknown;
    const spy = vi.spyOn(crypto.subtle, step).mockImplementation((async (...all: unknown[]) => {
      await held;
      return real(...all);
    }) as never);
    return { begun: () => spy.mock.calls.length, go };
  }

  /** A world whose keys are loaded. */
  async function loadedWorld(...names: readonly string[]): Promise<World> {
    const world = new World();
    world.keys = names.map((name) => published[name] as JWK);
    expect(await outcomeOf(() => world.present(tokens['of another'] ?? ''))).toBe('tom, viewer');
    return world;
  }

  it('is verified once, however many come before the first is known', async () => {
    const world = await loadedWorld('one');
    const { begun, go } = hold('verify');
    const token = tokens['of a viewer'] ?? '';
    const some = Array.from({ length: 100 }, () => world.present(token));
    await world.clock.settle();
    const more = Array.from({ length: 100 }, () => world.present(token));
    go();
    const viewers = await Promise.all([...some, ...more]);
    expect(new Set(viewers)).toEqual(new Set([{ name: 'mia', role: 'viewer' }]));
    expect(begun()).toBe(1);
    expect(world.present(token)).toEqual({ name: 'mia', role: 'viewer' });
  });

  it('is verified once also where its verification had the first keys fetched', async () => {
    const { begun, go } = hold('verify');
    const world = new World();
    world.keys = [published['one'] as JWK];
    const token = tokens['of a viewer'] ?? '';
    const some = world.present(token);
    await world.clock.settle();
    const more = world.present(token);
    go();
    expect(await Promise.all([some, more])).toHaveLength(2);
    expect([begun(), world.fetched]).toEqual([1, 1]);
  });

  it('does not join a verification that began with other keys', async () => {
    const world = await loadedWorld('one');
    const { go } = hold('verify');
    const token = tokens['of a viewer'] ?? '';
    const before = world.present(token);
    await world.clock.advance(30_000);
    world.keys = [published['two'] as JWK];
    // It has the new keys fetched.
    const other = world.present(tokens['of the second key'] ?? '');
    await world.clock.settle();
    const after = outcomeOf(() => world.present(token));
    go();
    expect(await before).toEqual({ name: 'mia', role: 'viewer' });
    expect(await other).toEqual({ name: 'mia', role: 'viewer' });
    expect(await after).toBe(INVALID);
    expect(await outcomeOf(() => world.present(token))).toBe(INVALID);
  });

  it('is not remembered with keys that came while its own was imported', async () => {
    const world = await loadedWorld('one', 'two');
    const { go } = hold('importKey');
    const token = tokens['of the second key'] ?? '';
    const before = world.present(token);
    await world.clock.advance(30_000);
    world.keys = [published['one'] as JWK];
    const other = outcomeOf(() => world.present(tokens['of an unknown key'] ?? ''));
    await world.clock.settle();
    go();
    expect(await before).toEqual({ name: 'mia', role: 'viewer' });
    expect(await other).toBe(INVALID);
    expect(await outcomeOf(() => world.present(token))).toBe(INVALID);
  });

  it('is not valid where it expires while its key is fetched', async () => {
    const world = new World();
    world.keys = [published['one'] as JWK];
    const viewer = outcomeOf(() => world.present(tokens['that expires soon'] ?? ''));
    world.clock.jumpWall(65_000);
    expect(await viewer).toBe('The token has expired.');
  });
});
