import { array, assert, asyncProperty, constantFrom, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import type { Row } from '../support/gateway.ts';
import { rounds } from '../support/rounds.ts';

async function open(
  env: Readonly<Record<string, string>> = {},
  options: Parameters<typeof openDoor>[1] = {},
): Promise<Door> {
  const door = await openDoor({ AUTH_MODE: 'passthrough', ...env }, options);
  return door;
}

const query = '{ account { username } }';

describe('a caller’s own key', () => {
  it('goes upstream, and its answer is of its own account', async () => {
    const door = await open();
    const { admin, pro } = door.sandbox.links.keys;
    const names = await Promise.all([admin, pro, admin].map((key) => door.ask(query, key)));
    expect(names.map(({ data }) => data)).toEqual([
      { account: { username: 'studio' } },
      { account: { username: 'harbourcycles' } },
      { account: { username: 'studio' } },
    ]);
    const sent = door.sandbox.links.requests.map(({ headers }) => headers['authorization']);
    expect(new Set(sent)).toEqual(new Set([`Bearer ${admin}`, `Bearer ${pro}`]));
  });

  it('is wanted, and looked at by the upstream alone', async () => {
    const door = await open();
    expect((await door.ask(query)).code).toBe('UNAUTHENTICATED');
    expect(door.calls()).toBe(0);
    const { status, code } = await door.ask(query, 'made-up');
    expect([status, code]).toEqual([200, 'UPSTREAM_UNAUTHENTICATED']);
  });

  it('has a budget of its own', async () => {
    const door = await open({ LINKS_RATE_LIMIT: '5' });
    const { admin, pro } = door.sandbox.links.keys;
    const used = async (key: string) => (await door.ask('{ rateLimit { used } }', key)).data;
    await door.ask('{ account { username } plans { name } }', admin);
    expect(await used(admin)).toEqual({ rateLimit: { used: 2 } });
    expect(await used(pro)).toEqual({ rateLimit: { used: 0 } });
  });

  it('is in no log', async () => {
    const door = await open();
    const { pro } = door.sandbox.links.keys;
    await door.ask(query, pro);
    await door.ask('{ account { username } nothing }', pro);
    expect(door.log()).not.toContain(pro);
  });
});

describe('the number of keys', () => {
  const bound = { passthroughMaxKeys: '2' };

  it('is bounded: one more is told to wait until another has nothing spent any more', async () => {
    const door = await open(bound);
    const { admin, pro, free } = door.sandbox.links.keys;
    await door.ask(query, admin);
    await door.clock.advance(20_000);
    await door.ask(query, pro);
    const before = door.calls();
    const { code, errors } = await door.ask(query, free);
    expect([code, errors[0]?.extensions?.['retryAfterMs']]).toEqual(['BUDGET_EXHAUSTED', 40_000]);
    expect(door.calls()).toBe(before);
    await door.clock.advance(40_000);
    expect((await door.ask(query, free)).errors).toEqual([]);
  });

  it('never makes anybody’s spending forgotten', async () => {
    const door = await open({
      ...bound,
      LINKS_RATE_LIMIT: '3',
      MAX_WAIT_MS: '0',
      'ttl.account': '0',
    });
    const { admin, pro, free } = door.sandbox.links.keys;
    const used = async (key: string) =>
      (await door.ask('{ rateLimit { used } }', key)).data?.['rateLimit'];
    await door.ask('{ account { username } }', admin);
    await door.ask('{ account { username } }', pro);
    await door.clock.advance(59_000);
    await door.ask('{ plans { name } }', admin);
    expect((await door.ask(query, free)).code).toBe('BUDGET_EXHAUSTED');
    expect(await used(admin)).toEqual({ used: 2 });
    await door.clock.advance(1000);
    expect((await door.ask(query, free)).errors).toEqual([]);
    expect(await used(admin)).toEqual({ used: 1 });
  });

  it('does not keep what is kept from a caller whose budget is gone', async () => {
    const door = await open({ ...bound, 'ttl.account': '86400000' });
    const { admin, pro, free } = door.sandbox.links.keys;
    await door.ask(query, admin);
    await door.clock.advance(60_000);
    await door.ask(query, pro);
    await door.ask(query, free);
    const before = door.calls();
    const { data, errors } = await door.ask(query, admin);
    expect([errors, data]).toEqual([[], { account: { username: 'studio' } }]);
    expect(door.calls()).toBe(before);
  });
});

describe('what is kept', () => {
  it('never crosses from one key to another, whatever they read and write', async () => {
    // Short enough for a wait to make answers stale, and have them refreshed behind the readers' backs.
    const door = await open({ 'ttl.account': '5', 'ttl.campaigns': '5' });
    const { keys } = door.sandbox.links;
    const callers = {
      studio: keys.admin,
      harbourcycles: keys.pro,
      wrenceramics: keys.free,
    } as const;
    type Name = keyof typeof callers;
    const own: Record<Name, Set<string>> = {
      studio: new Set(),
      harbourcycles: new Set(),
      wrenceramics: new Set(),
    };
    let serial = 0;
    const read = async (name: Name): Promise<void> => {
      const { data } = await door.ask(
        '{ account { username } campaigns(first: 500) { nodes { name } } }',
        callers[name],
      );
      expect(data?.['account']).toEqual({ username: name });
      const { nodes } = (data?.['campaigns'] ?? { nodes: [] }) as {
        readonly nodes: readonly Row[];
      };
      const marked = nodes
        .map((node) => String(node['name']))
        .filter((each) => each.startsWith('of '));
      // Their own, all of them, and no other caller's.
      expect(new Set(marked)).toEqual(own[name]);
    };
    const write = async (name: Name): Promise<void> => {
      serial += 1;
      const campaign = `of ${name} ${serial}`;
      const { data } = await door.ask(
        'mutation ($name: String) { createCampaign(input: { name: $name }) { __typename } }',
        callers[name],
        { variables: { name: campaign } },
      );
      expect(data).toEqual({ createCampaign: { __typename: 'Campaign' } });
      own[name].add(campaign);
    };
    const step = record({
      name: constantFrom<Name>('studio', 'harbourcycles', 'wrenceramics'),
      act: constantFrom('read', 'read', 'write', 'wait'),
    });
    await assert(
      asyncProperty(array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        for (const { name, act } of steps) {
          if (act === 'wait') await door.clock.advance(6);
          else await (act === 'read' ? read(name) : write(name));
        }
        await Promise.all((Object.keys(callers) as Name[]).map(read));
      }),
      { numRuns: rounds(8), endOnFailure: true },
    );
  });
});
