import { beforeEach, describe, expect, it } from 'vitest';
import { tokenFile } from '../../support/folder.ts';
import { startWorld, type World } from '../../support/gateway.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const LIMIT = 30;
const RATE_LIMIT = '{ rateLimit { limit remaining available } }';
const STATISTICS = 'query ($id: ID!) { qrCode(id: $id) { statistics { clicks } } }';
const RENAME =
  'mutation ($id: ID!) { updateChannel(input: { id: $id, name: "renamed" }) { ... on Channel { name } } }';

interface Channels {
  readonly channels: { readonly nodes: readonly { readonly id: string }[] };
}

let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock();
});

/** A gateway with the default settings, and some callers. */
async function open(env: Readonly<Record<string, string>> = {}): Promise<World> {
  const file = tokenFile({ name: 'viewer', role: 'viewer' }, { name: 'editor', role: 'editor' });
  return startWorld({
    clock,
    sandbox: { clock, limit: { requests: LIMIT, mode: 'sliding' } },
    only: 'links',
    env: {
      AUTH_MODE: 'token',
      AUTH_TOKENS_FILE: file,
      LINKS_RATE_LIMIT: String(LIMIT),
      shutdownGraceMs: '0',
      ...env,
    },
  });
}

const as = (role: string) => ({ authorization: `Bearer ${role}` });

/** Statistics of so many codes, each as an operation of the viewer; returns how many were answered. */
async function burst(world: World, count: number): Promise<number> {
  const asked = await Promise.all(
    Array.from({ length: count }, (_, id) =>
      world.ask(STATISTICS, { id: String(id + 1) }, { ...as('viewer'), prefer: 'wait=0' }),
    ),
  );
  return asked.filter(({ errors }) => errors.length === 0).length;
}

async function available(world: World, role: string) {
  const { data } = await world.ask(RATE_LIMIT, undefined, as(role));
  return (data as { rateLimit: object }).rateLimit;
}

describe('The reserves of a rate limit', () => {
  it('leave slots to other callers and to writes after a burst', async () => {
    const world = await open();
    // Their codes are on one page, which costs one of the requests.
    await world.ask('{ qrCodes(first: 40) { nodes { id } } }', undefined, as('viewer'));
    await burst(world, 40);
    expect(world.calls()).toHaveLength(24);
    expect(await available(world, 'viewer')).toEqual({ limit: LIMIT, remaining: 6, available: 0 });
    expect(await available(world, 'editor')).toEqual({ limit: LIMIT, remaining: 6, available: 6 });
    const { data: list } = await world.ask(
      '{ channels(first: 1) { nodes { id } } }',
      {},
      as('editor'),
    );
    const [{ id } = { id: '' }] = (list as unknown as Channels).channels.nodes;
    const { data, errors } = await world.ask(RENAME, { id }, as('editor'));
    expect([data, errors]).toEqual([{ updateChannel: { name: 'renamed' } }, []]);
  });

  it('show in a dry run what a caller waits for', async () => {
    const world = await open();
    await world.ask('{ qrCodes(first: 40) { nodes { id } } }', undefined, as('viewer'));
    await burst(world, 40);
    const plan = async (role: string) => {
      const headers = { ...as(role), 'x-gateway-dry-run': '1' };
      const { text } = await world.ask('{ domains { nodes { id } } }', undefined, headers);
      return JSON.parse(text).extensions.plan;
    };
    expect(await plan('editor')).toMatchObject({ calls: 1, fits: true, startsInMs: 0 });
    expect((await plan('viewer')).startsInMs).toBeGreaterThan(40_000);
    const { errors } = await world.ask('{ domains { nodes { id } } }', undefined, as('viewer'));
    expect(errors).toMatchObject([{ extensions: { code: 'BUDGET_EXHAUSTED' } }]);
    expect(world.calls()).toHaveLength(24);
  });

  it('can be switched off', async () => {
    const world = await open({ writeReserve: '0', newcomerReserve: '0' });
    await world.ask('{ qrCodes(first: 40) { nodes { id } } }', undefined, as('viewer'));
    await burst(world, 40);
    expect(world.calls()).toHaveLength(LIMIT);
    expect(await available(world, 'editor')).toMatchObject({ remaining: 0, available: 0 });
  });
});
