import { beforeEach, describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import type { World } from '../../support/gateway.ts';
import { asTimePasses, upload } from '../../support/uploads.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { outcomeOf, sendWrite } from './every-write.ts';
import { FailureStage } from './failure-stage.ts';

const stage = new FailureStage();

/** One answer of the API that is not what it was asked for. */
interface Told {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const NONE_LEFT = { 'x-ratelimit-remaining': '0' };
const AFTER = { 'retry-after': '20' };
const words = 'API rate limit reached. Please try again later.';

/** The ways in which installations of the link API say that the limit is reached, beside 429. */
const links: readonly Told[] = [
  { headers: NONE_LEFT, body: { error: 1, message: words } },
  {
    headers: NONE_LEFT,
    body: { error: '1', message: 'You have reached the maximum number of requests.' },
  },
  { headers: AFTER, body: { error: 1, message: 'Too many requests' } },
  { body: { error: 1, message: words, retry_after: 20 } },
  { body: { error: true, message: 'Request limit exceeded', data: { 'Retry-After': '20' } } },
  // In a language that is not known.
  { headers: { ...NONE_LEFT, ...AFTER }, body: { error: 1, message: 'Demasiadas solicitudes' } },
  { status: 400, headers: AFTER, body: { error: 1, message: words } },
  { status: 403, headers: AFTER, body: { error: 1, message: 'Forbidden' } },
  { status: 403, headers: AFTER, body: '<html>Forbidden</html>' },
  { status: 403, headers: AFTER, body: '' },
  { body: { error: 1, code: 429, message: 'No' } },
  { body: { error: 1, status: '429', message: 'No' } },
  { body: { status: 429, message: 'No' } },
  { body: { error: { code: 429, message: 'No' } } },
  { body: { success: false, message: words, retry_after: '20' } },
];

const market: readonly Told[] = [
  { headers: NONE_LEFT, body: { status: 'error', msg: words } },
  { headers: AFTER, body: { status: 'error', msg: 'Too many requests', data: [] } },
  { body: { status: 'error', msg: words, retry_after: 20 } },
  { headers: { ...NONE_LEFT, ...AFTER }, body: { status: 'error', msg: 'Zu viele Anfragen' } },
  { status: 403, headers: AFTER, body: { status: 'error', msg: 'Forbidden' } },
  { status: 403, headers: AFTER, body: '<html>' },
  { body: { status: 'error', code: 429, msg: 'No' } },
  { body: { status: 429, msg: 'No' } },
  { body: { error: { code: '429' } } },
];

/** Answers the next request like this. */
function refuseOnce(api: 'links' | 'market', told: Told, scope: Partial<Fault> = {}): void {
  stage.sandbox[api].fault({
    ...scope,
    kind: 'answer',
    times: 1,
    rewrite: () => ({ status: 200, ...told, headers: { ...told.headers } }),
  });
}

let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock();
});
const patient = { prefer: 'wait=150' };
const env = { MAX_WAIT_MS: '150000' };

/** How a refusal is told makes no difference to what follows from it. */
const some = links.filter((_, at) => at % 4 === 0);

describe('A refusal by the rate limit that is told in another way', () => {
  it.each(links)('pauses the link API, and is sent again: %j', async (told) => {
    const { ask, calls } = await stage.start(env, undefined, { clock });
    refuseOnce('links', told);
    const { data, errors } = await asTimePasses(
      clock,
      ask('{ account { username } }', {}, patient),
    );
    expect({ data, errors }).toEqual({ data: { account: { username: 'studio' } }, errors: [] });
    expect(calls()).toEqual(['GET /api/account', 'GET /api/account']);
  });

  it.each(market)('pauses the marketplace API, and is sent again: %j', async (told) => {
    const { ask, calls } = await stage.start(env, undefined, { clock });
    const code = stage.sandbox.market.purchaseCodes.valid[0];
    for (const query of ['{ seller { username } }', `{ purchase(code: "${code}") { code } }`]) {
      refuseOnce('market', told);
      const { errors } = await asTimePasses(clock, ask(query, {}, patient));
      expect(errors).toEqual([]);
    }
    expect(calls()).toHaveLength(4);
  });

  it.each(some)('serves a known list meanwhile: %j', async (told) => {
    const { ask, data } = await stage.start({ 'ttl.channels': '1000' }, undefined, { clock });
    const query = '{ channels(first: 3) { nodes { name } } }';
    const before = await data(query);
    await clock.advance(600_000);
    refuseOnce('links', told);
    const known = await asTimePasses(clock, ask(query, {}, { prefer: 'wait=1' }));
    expect({ data: known.data, errors: known.errors }).toEqual({ data: before, errors: [] });
    expect(known.receipt.stale).toBeGreaterThan(0);
  });

  it.each(some)('leaves a write unmade, and it is sent again: %j', async (told) => {
    const world = await stage.start(env, undefined, { clock });
    const headers = { ...patient, 'idempotency-key': '"one"' };
    const write = 'createChannel(input: { name: "x" })';
    refuseOnce('links', told);
    expect(await asTimePasses(clock, outcomeOf(world, write, headers))).toBe('Channel');
    expect(world.calls()).toEqual(['POST /api/channel/add', 'POST /api/channel/add']);
  });

  it.each([
    { error: 1, message: words },
    { error: 1, code: 429, message: 'No' },
  ])('holds an upload back: %j', async (body) => {
    const world = await stage.start({ ...env, PORT: '0' });
    const { url } = await world.gateway.listen();
    refuseOnce('links', { headers: { 'retry-after': '0' }, body });
    const { errors, status } = await upload(url, '/files/a.txt', 'bytes', patient);
    expect({ errors, status }).toEqual({ errors: undefined, status: 201 });
  });
});

describe('A rejection on the last request of a window', () => {
  it.each([
    'The name is taken.',
    'You have reached the limit of 10 channels of your plan.',
    'Maximum number of pixels reached.',
    'You have reached your plan limit.',
  ])('stays a rejection: %s', async (message) => {
    const { ask } = await stage.start();
    refuseOnce('links', { headers: NONE_LEFT, body: { error: 1, message } });
    const { data } = await sendWrite(ask, 'createChannel(input: { name: "x" })');
    expect(data?.result).toEqual({ __typename: 'Rejected', message });
  });

  it('stays a success if it is one', async () => {
    const { ask } = await stage.start();
    const body = { error: 0, id: 7, message: words, code: 429 };
    refuseOnce('links', { headers: { ...NONE_LEFT, ...AFTER }, body });
    const { data } = await sendWrite(
      ask,
      'createPixel(input: { type: GTM, name: "x", tag: "GTM-1" })',
    );
    expect(data?.result).toEqual({ __typename: 'Pixel' });
  });
});

describe('A 503 with Retry-After', () => {
  const unavailable = (scope: Partial<Fault> = {}): (() => void) =>
    stage.sandbox.links.fault({
      ...scope,
      kind: 'answer',
      rewrite: () => ({ status: 503, headers: { 'retry-after': '90' }, body: '<html>' }),
    });
  const lists = [
    'domains',
    'overlays',
    'campaigns',
    'channels',
    'splashPages',
    'files',
    'pixels',
    'qrCodes',
  ];
  const start = async (): Promise<World> => {
    const world = await stage.start(env, undefined, { clock });
    await world.data('{ account { id } }');
    world.forgetCalls();
    return world;
  };

  it('holds back all reads until then, and they say when', async () => {
    const { ask, calls } = await start();
    unavailable();
    for (const list of lists) {
      const { errors } = await asTimePasses(
        clock,
        ask(`{ ${list} { totalCount } }`, {}, { prefer: 'wait=1' }),
      );
      const ms = Number(errors[0]?.extensions?.['retryAfterMs']);
      expect(ms).toBeGreaterThan(50_000);
      expect(ms).toBeLessThanOrEqual(91_000);
    }
    expect(calls()).toHaveLength(1);
  });

  it('is over for callers that can wait for it', async () => {
    const { ask } = await start();
    unavailable({ times: 1 });
    const { errors } = await asTimePasses(
      clock,
      ask('{ channels { totalCount } }', {}, { prefer: 'wait=150' }),
    );
    expect(errors).toEqual([]);
  });

  it('leaves the outcome of a write unknown, and holds back the rest', async () => {
    const { ask, calls } = await start();
    unavailable();
    const { errors } = await sendWrite(ask, 'deletePixel(id: 27)');
    expect(errors[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryAfterMs: 90_000 });
    const asked = ask('{ pixels { totalCount } }', {}, { prefer: 'wait=1' });
    expect((await asTimePasses(clock, asked)).errors).toHaveLength(1);
    expect(calls()).toEqual(['DELETE /api/pixel/27/delete']);
  });

  it('for one kind of row alone does not hold back the others again and again', async () => {
    const { ask } = await start();
    unavailable({ path: /^\/api\/qr\/\d+$/ });
    const row = () =>
      ask('{ qrCode(id: 301) { statistics { clicks } } }', {}, { prefer: 'wait=1' });
    await asTimePasses(clock, row());
    await clock.advance(200_000);
    expect((await ask('{ pixels { totalCount } }')).errors).toEqual([]);
    for (let count = 0; count < 3; count += 1) {
      const { errors } = await asTimePasses(clock, row());
      expect(errors[0]?.extensions).toMatchObject({
        code: 'UPSTREAM_UNAVAILABLE',
        retryAfterMs: 90_000,
      });
      expect((await ask(`{ ${lists[count]} { totalCount } }`)).errors).toEqual([]);
    }
  });
});
