import { SignJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { tempFolder, tokenFile } from '../../support/folder.ts';
import {
  type AnswerError,
  startWorld,
  type World,
  type WorldOptions,
} from '../../support/gateway.ts';
import { openFolder } from '../../support/store.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const LIMIT = 30;
const MINUTE_MS = 60_000;
const QUOTA = 3;
const PER_MINUTE = { CALLER_CLASSES: `{"agent": {"weight": 1, "maxCallsPerMinute": ${QUOTA}}}` };
const NO_CALLS = { CALLER_CLASSES: '{"agent": {"maxCallsPerMinute": 0}}' };

/** Each costs one request. */
const ACCOUNT = '{ account { username } }';
const PIXELS = '{ pixels(first: 1) { nodes { id } } }';
const DOMAINS = '{ domains(first: 1) { nodes { id } } }';
const CAMPAIGNS = '{ campaigns(first: 1) { nodes { id } } }';
const CHANNELS = '{ channels(first: 1) { nodes { id } } }';
const CREATE = 'mutation { createCampaign(input: { name: "x" }) { __typename } }';
const RATE_LIMIT = '{ rateLimit { callerClass quota { limit used remaining resetAt } available } }';

let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock();
});

/** A gateway with a person and two agents. */
async function open(
  env: Readonly<Record<string, string>>,
  of: Pick<WorldOptions, 'on' | 'store'> = {},
): Promise<World> {
  const file = tokenFile(
    { name: 'person', role: 'editor' },
    { name: 'bot', role: 'editor', class: 'agent' },
    { name: 'helper', role: 'editor', class: 'agent' },
  );
  const auth = env['AUTH_MODE'] ? {} : { AUTH_MODE: 'token', AUTH_TOKENS_FILE: file };
  return startWorld({
    clock,
    sandbox: { clock, limit: { requests: LIMIT, mode: 'sliding' } },
    only: 'links',
    ...of,
    env: { ...auth, LINKS_RATE_LIMIT: String(LIMIT), shutdownGraceMs: '0', ...env },
  });
}

const as = (token: string) => ({ authorization: `Bearer ${token}` });
const ask = (world: World, query: string, token: string, headers = {}) =>
  world.ask(query, undefined, { ...as(token), ...headers });

/** The bot uses the quota of its class. */
async function useUp(world: World): Promise<void> {
  for (const query of [ACCOUNT, PIXELS, DOMAINS]) {
    expect((await ask(world, query, 'bot')).errors).toEqual([]);
  }
  expect(world.calls()).toHaveLength(QUOTA);
}

async function rateLimit(world: World, token: string) {
  const { data } = await ask(world, RATE_LIMIT, token);
  return data['rateLimit'] as Readonly<Record<'quota' | 'callerClass' | 'available', unknown>>;
}

/** The error of a request over the quota. */
const exhausted = (resetAt: string, seconds: number) => [
  expect.objectContaining<Partial<AnswerError>>({
    message: `The class agent has used its ${QUOTA} requests per minute to the link-management API. Retry in ${seconds} s.`,
    extensions: expect.objectContaining({
      code: 'BUDGET_EXHAUSTED',
      upstream: 'LINKS',
      retryAfterMs: seconds * 1000,
      availableAt: resetAt,
      quota: { class: 'agent', limit: QUOTA, resetAt },
    }),
  }),
];

describe('A quota', () => {
  it('ends with BUDGET_EXHAUSTED for all callers of the class, until a slot is free', async () => {
    const world = await open(PER_MINUTE);
    await useUp(world);
    await clock.advance(20_000);
    for (const token of ['bot', 'helper']) {
      for (const query of [CAMPAIGNS, CREATE]) {
        const { errors } = await ask(world, query, token);
        expect(errors).toEqual(exhausted('2030-01-01T00:01:00.000Z', 40));
      }
    }
    expect(world.calls()).toHaveLength(QUOTA);
    await clock.advance(40_000);
    for (const query of [CAMPAIGNS, CREATE, CHANNELS]) {
      expect((await ask(world, query, 'helper')).errors).toEqual([]);
    }
    expect(world.calls()).toHaveLength(2 * QUOTA);
  });

  it('does not affect another class', async () => {
    const world = await open(PER_MINUTE);
    await useUp(world);
    for (const query of [CAMPAIGNS, CREATE]) {
      expect((await ask(world, query, 'person')).errors).toEqual([]);
    }
    expect(world.calls()).toHaveLength(QUOTA + 2);
  });

  it('does not limit cached responses, however they are served', async () => {
    const world = await open(PER_MINUTE);
    await useUp(world);
    // By the cache, and remembered.
    for (let time = 0; time < 5; time += 1) {
      const { data, errors, receipt } = await ask(world, ACCOUNT, 'bot');
      expect([data, errors, receipt.calls]).toEqual([{ account: { username: 'studio' } }, [], 0]);
    }
    await ask(world, CAMPAIGNS, 'person');
    expect((await ask(world, CAMPAIGNS, 'helper')).errors).toEqual([]);
    expect(world.calls()).toHaveLength(QUOTA + 1);
  });

  it('lets a stale entry be served if there is one', async () => {
    const env = { 'ttl.account': '1000', staleWhileRevalidateMs: '0' };
    const world = await open({ ...PER_MINUTE, ...env });
    await useUp(world);
    await clock.advance(30_000);
    const { data, errors, receipt } = await ask(world, ACCOUNT, 'bot');
    expect([data, errors]).toEqual([{ account: { username: 'studio' } }, []]);
    expect(receipt).toMatchObject({ calls: 0, stale: 1, maxAgeMs: 30_000 });
    expect(world.calls()).toHaveLength(QUOTA);
    expect((await ask(world, ACCOUNT, 'person')).receipt).toMatchObject({ calls: 1, stale: 0 });
  });

  it('is still used up after a restart', async () => {
    const world = await open(PER_MINUTE);
    const folder = tempFolder();
    const restart = async () =>
      open(PER_MINUTE, { on: world.sandbox, store: await openFolder(folder, clock) });
    const first = await restart();
    await useUp(first);
    await clock.advance(20_000);
    await first.close();
    const second = await restart();
    expect(await rateLimit(second, 'helper')).toMatchObject({ quota: { used: QUOTA } });
    for (const token of ['bot', 'helper']) {
      expect((await ask(second, CAMPAIGNS, token)).errors).toMatchObject([
        { extensions: { code: 'BUDGET_EXHAUSTED', quota: { class: 'agent', limit: QUOTA } } },
      ]);
    }
    expect((await ask(second, CAMPAIGNS, 'person')).errors).toEqual([]);
    expect(world.calls()).toHaveLength(QUOTA + 1);
    await clock.advance(41_100);
    expect((await ask(second, CHANNELS, 'bot')).errors).toEqual([]);
  });

  it('does not count refreshes', async () => {
    const world = await open({ ...PER_MINUTE, 'ttl.account': '20000' });
    await useUp(world);
    await clock.advance(30_000);
    const before = await rateLimit(world, 'bot');
    expect((await ask(world, ACCOUNT, 'bot')).receipt).toMatchObject({ calls: 0, stale: 1 });
    await clock.advance(10_000);
    expect(world.calls()).toHaveLength(QUOTA + 1);
    expect((await ask(world, ACCOUNT, 'bot')).receipt).toMatchObject({ calls: 0, stale: 0 });
    expect((await rateLimit(world, 'bot')).quota).toEqual(before.quota);
  });

  it('of 0 leaves cached responses, and those to requests of others', async () => {
    const world = await open(NO_CALLS);
    const [byPerson, byBot] = await Promise.all([
      ask(world, ACCOUNT, 'person'),
      ask(world, ACCOUNT, 'bot'),
    ]);
    expect([byPerson.errors, byBot.errors, byBot.data]).toEqual([[], [], byPerson.data]);
    expect(world.calls()).toHaveLength(1);
    const { errors } = await ask(world, PIXELS, 'bot');
    expect(errors[0]?.extensions).toMatchObject({ quota: { limit: 0 } });
    expect(world.calls()).toHaveLength(1);
  });
});

describe('Query.rateLimit', () => {
  it('has the class of the caller, and its quota', async () => {
    const world = await open(PER_MINUTE);
    expect(await rateLimit(world, 'bot')).toEqual({
      callerClass: 'agent',
      quota: { limit: QUOTA, used: 0, remaining: QUOTA, resetAt: null },
      available: QUOTA,
    });
    await useUp(world);
    for (const token of ['bot', 'helper']) {
      expect(await rateLimit(world, token)).toEqual({
        callerClass: 'agent',
        quota: { limit: QUOTA, used: QUOTA, remaining: 0, resetAt: '2030-01-01T00:01:00Z' },
        available: 0,
      });
    }
    expect(await rateLimit(world, 'person')).toMatchObject({ callerClass: 'default', quota: null });
  });

  it('has the quota of the class of all others', async () => {
    const world = await open({
      CALLER_CLASSES: '{"default": {"maxCallsPerMinute": 2}, "agent": {}}',
    });
    await ask(world, ACCOUNT, 'person');
    expect(await rateLimit(world, 'person')).toMatchObject({
      callerClass: 'default',
      quota: { limit: 2, used: 1, remaining: 1 },
    });
    expect(await rateLimit(world, 'bot')).toMatchObject({ callerClass: 'agent', quota: null });
  });
});

describe('A dry run', () => {
  it('includes the wait for the quota', async () => {
    const world = await open(PER_MINUTE);
    const plan = async (query: string, token: string) => {
      const { text } = await ask(world, query, token, { 'x-gateway-dry-run': '1' });
      return JSON.parse(text).extensions.plan;
    };
    expect(await plan(CAMPAIGNS, 'bot')).toMatchObject({ calls: 1, startsInMs: 0 });
    await useUp(world);
    await clock.advance(20_000);
    expect(await plan(CAMPAIGNS, 'bot')).toMatchObject({
      calls: 1,
      fits: true,
      startsInMs: 40_000,
    });
    expect(await plan(CAMPAIGNS, 'person')).toMatchObject({ calls: 1, startsInMs: 0 });
    expect(await plan(ACCOUNT, 'bot')).toMatchObject({ calls: 0, startsInMs: 0 });
    expect(world.calls()).toHaveLength(QUOTA);
  });
});

describe('A request of an agent that waits for its quota', () => {
  const PATIENT = { ...PER_MINUTE, MAX_WAIT_MS: String(2 * MINUTE_MS) };

  it('is sent as soon as the quota allows it', async () => {
    const world = await open(PATIENT);
    await useUp(world);
    const waits = ask(world, CAMPAIGNS, 'bot');
    await clock.advance(MINUTE_MS - 1);
    expect(world.calls()).toHaveLength(QUOTA);
    await clock.advance(1);
    const { errors, receipt } = await waits;
    expect([errors, receipt.calls, receipt.waitedMs]).toEqual([[], 1, MINUTE_MS]);
  });

  it.each(['wait=0', 'wait=60'])(
    'is sent at once when a person with %s joins it, and does not count',
    async (prefer) => {
      const world = await open(PATIENT);
      await useUp(world);
      const waits = ask(world, CAMPAIGNS, 'bot');
      await clock.advance(1000);
      expect(world.calls()).toHaveLength(QUOTA);
      const { data, errors } = await ask(world, CAMPAIGNS, 'person', { prefer });
      expect(errors).toEqual([]);
      expect(await waits).toMatchObject({ data, errors: [] });
      expect(world.calls()).toHaveLength(QUOTA + 1);
      expect(await rateLimit(world, 'bot')).toMatchObject({ quota: { used: QUOTA } });
    },
  );

  it('does not delay the requests of a person', async () => {
    const world = await open(PATIENT);
    await useUp(world);
    const waits = [CAMPAIGNS, CREATE].map((query) => ask(world, query, 'bot'));
    await clock.settle();
    expect((await ask(world, CHANNELS, 'person', { prefer: 'wait=0' })).errors).toEqual([]);
    expect(world.calls()).toHaveLength(QUOTA + 1);
    await clock.advance(MINUTE_MS);
    for (const { errors } of await Promise.all(waits)) expect(errors).toEqual([]);
  });
});

describe('The class of agents without configuration', () => {
  const FILES = 'query($name: String) { files(search: $name, first: 1) { totalCount } }';

  it('has a third of the limit, which rateLimit shows to its callers', async () => {
    const world = await open({});
    expect(await rateLimit(world, 'bot')).toEqual({
      callerClass: 'agent',
      quota: { limit: LIMIT / 3, used: 0, remaining: 10, resetAt: null },
      available: 10,
    });
    expect(await rateLimit(world, 'person')).toMatchObject({ callerClass: 'default', quota: null });
    for (let n = 0; n < 10; n += 1) {
      const answer = await world.ask(FILES, { name: `${n}` }, as(n % 2 ? 'bot' : 'helper'));
      expect(answer.errors).toEqual([]);
    }
    const { errors } = await ask(world, CAMPAIGNS, 'bot');
    expect(errors[0]?.extensions).toMatchObject({ quota: { class: 'agent', limit: 10 } });
    expect(await rateLimit(world, 'helper')).toMatchObject({
      quota: { used: 10, remaining: 0 },
      available: 0,
    });
    expect((await ask(world, CAMPAIGNS, 'person')).errors).toEqual([]);
    expect(world.calls()).toHaveLength(11);
  });

  it('reads only from slots that others leave, and writes in its turn', async () => {
    const world = await open({});
    for (let n = 0; n < 24; n += 1) await world.ask(FILES, { name: `${n}` }, as('person'));
    expect((await ask(world, ACCOUNT, 'bot')).receipt).toMatchObject({ calls: 1 });
    const { errors } = await ask(world, PIXELS, 'bot');
    expect(errors[0]?.extensions).toMatchObject({ code: 'BUDGET_EXHAUSTED' });
    expect(errors[0]?.extensions?.['quota']).toBeUndefined();
    expect(errors[0]?.extensions?.['retryAfterMs']).toBeGreaterThan(20_000);
    expect(await rateLimit(world, 'bot')).toMatchObject({ available: 0 });
    expect((await ask(world, CREATE, 'bot')).errors).toEqual([]);
    expect(world.calls()).toHaveLength(26);
  });

  it('is in the metrics when it has sent a request', async () => {
    const world = await open({ PORT: '0' });
    const { url } = await world.gateway.listen();
    await ask(world, PIXELS, 'person');
    const lines = async (): Promise<string[]> => {
      const response = await fetch(`${url}/metrics`);
      return (await response.text()).split('\n').filter((line) => line.includes('class="agent"'));
    };
    expect(await lines()).toEqual([]);
    await ask(world, ACCOUNT, 'bot');
    expect(await lines()).toEqual([
      'gateway_upstream_requests_by_class_total{upstream="LINKS",class="agent"} 1',
      'gateway_class_quota_limit{upstream="LINKS",class="agent"} 10',
      'gateway_class_quota_used{upstream="LINKS",class="agent"} 1',
    ]);
    await clock.advance(MINUTE_MS + 1000);
    expect(await lines()).toHaveLength(1);
  });
});

describe('A class claim', () => {
  it('gives the caller of a JWT the class', async () => {
    const secret = 's'.repeat(32);
    const world = await open({
      ...PER_MINUTE,
      AUTH_MODE: 'jwt',
      AUTH_JWT_SECRET: secret,
      AUTH_JWT_ISSUER: 'https://login.example',
      AUTH_JWT_AUDIENCE: 'gateway',
      AUTH_JWT_CLASS_CLAIM: 'tier',
    });
    const sign = (claims: Readonly<Record<string, unknown>>) =>
      new SignJWT({ roles: ['editor'], ...claims })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer('https://login.example')
        .setAudience('gateway')
        .setSubject('mia')
        .setExpirationTime(clock.wall() / 1000 + 3600)
        .sign(new TextEncoder().encode(secret));
    const [agent, person] = [await sign({ tier: 'agent' }), await sign({})];
    for (const query of [ACCOUNT, PIXELS, DOMAINS]) await ask(world, query, agent);
    const { errors } = await ask(world, CAMPAIGNS, agent);
    expect(errors).toEqual(exhausted('2030-01-01T00:01:00.000Z', 60));
    expect(await rateLimit(world, agent)).toMatchObject({ callerClass: 'agent' });
    // The same subject without the claim is another caller.
    expect((await ask(world, CAMPAIGNS, person)).errors).toEqual([]);
    expect(await rateLimit(world, person)).toMatchObject({ callerClass: 'default', quota: null });
  });
});
