import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { refuseKey } from '../support/refused-key.ts';

async function open(env: Readonly<Record<string, string>> = {}): Promise<Door> {
  const door = await openDoor({ AUTH_MODE: 'passthrough', ...env });
  return door;
}

const MINUTE = 60_000;

const ALL = '{ account { username } campaigns { nodes { name } } channels { nodes { name } } }';
const SELLER = '{ seller { username } }';

describe('a caller’s key that the upstream refuses', () => {
  it('reads nothing any more, however fresh or stale what it has read', async () => {
    const door = await open();
    const { pro, free } = door.sandbox.links.keys;
    await door.ask(ALL, pro);
    await door.ask(`{ account { username } }`, free);
    refuseKey(door, pro);
    // One answer is not cached yet: its read finds out.
    expect((await door.ask('{ domains { nodes { id } } }', pro)).code).toBe(
      'UPSTREAM_UNAUTHENTICATED',
    );
    for (const minutes of [0, 1, 5, 60]) {
      await door.clock.advance(minutes * MINUTE);
      const { data, errors } = await door.ask(ALL, pro);
      expect(data).toEqual({ account: null, campaigns: null, channels: null });
      expect(new Set(errors.map(({ extensions }) => extensions?.code))).toEqual(
        new Set(['UPSTREAM_UNAUTHENTICATED']),
      );
    }
    expect((await door.ask('{ account { username } }', free)).errors).toEqual([]);
  });

  it('is not admitted to the marketplace by an account from before', async () => {
    const door = await open();
    const { pro } = door.sandbox.links.keys;
    expect((await door.ask(`{ account { username } ${SELLER.slice(1)}`, pro)).errors).toEqual([]);
    refuseKey(door, pro);
    await door.ask('{ campaigns { nodes { name } } }', pro);
    const { code, data } = await door.ask(SELLER, pro);
    expect([code, data]).toEqual(['UPSTREAM_UNAUTHENTICATED', { seller: null }]);
    const dry = await door.ask(SELLER, pro, { headers: { 'x-gateway-dry-run': '1' } });
    expect(dry.code).toBe('UPSTREAM_UNAUTHENTICATED');
    expect(dry.text).not.toMatch(/"cache":[1-9]/);
  });

  it('is detected by a refresh in the background', async () => {
    const door = await open({ 'ttl.campaigns': '60000', LINKS_RATE_LIMIT: '30' });
    const { pro } = door.sandbox.links.keys;
    await door.ask(ALL, pro);
    refuseKey(door, pro);
    await door.clock.advance(MINUTE + 1000);
    const before = door.calls();
    // Stale, and served at once; its refresh is refused.
    expect((await door.ask('{ campaigns { nodes { name } } }', pro)).errors).toEqual([]);
    await expect.poll(() => door.calls()).toBe(before + 1);
    await door.clock.advance(0);
    await expect
      .poll(async () => (await door.ask('{ channels { nodes { name } } }', pro)).code)
      .toBe('UPSTREAM_UNAUTHENTICATED');
    expect((await door.ask('{ campaigns { nodes { name } } }', pro)).data).toEqual({
      campaigns: null,
    });
  });

  it('keeps nothing of a read that was in flight when another was refused', async () => {
    const door = await open({ 'ttl.campaigns': '86400000', passthroughMaxKeys: '1' });
    const { free, pro } = door.sandbox.links.keys;
    // The first request of a key goes alone.
    await door.ask('{ domains { nodes { id } } }', pro);
    let answer = (): void => {};
    const until = new Promise<void>((resolve) => {
      answer = resolve;
    });
    door.sandbox.links.fault({ kind: 'hold', path: '/api/campaigns', until, times: 1 });
    const slow = door.ask('{ campaigns { nodes { name } } }', pro);
    await expect.poll(() => door.calls()).toBe(2);
    refuseKey(door, pro, /account|campaigns/);
    expect((await door.ask('{ account { username } }', pro)).code).toBe('UPSTREAM_UNAUTHENTICATED');
    answer();
    expect((await slow).errors).toEqual([]);
    // Nor does it give the key its place back.
    expect((await door.ask('{ account { username } }', free)).errors).toEqual([]);
    expect((await door.ask('{ campaigns { nodes { name } } }', pro)).code).toBe(
      'UPSTREAM_UNAUTHENTICATED',
    );
  });

  it('leaves nothing in memory', async () => {
    const door = await open({ metrics: 'open' });
    const { pro, free } = door.sandbox.links.keys;
    const entries = async (): Promise<number> => {
      const { text } = await door.send('/metrics');
      return Number(/^gateway_cache_entries (\d+)/m.exec(text)?.[1]);
    };
    await door.ask('{ account { username } }', free);
    await door.ask(ALL, pro);
    expect(await entries()).toBe(4);
    refuseKey(door, pro);
    await door.ask('{ domains { nodes { id } } }', pro);
    expect(await entries()).toBe(1);
    const before = door.calls();
    await door.clock.advance(10 * MINUTE);
    expect(door.calls()).toBe(before);
  });

  it('reads again as soon as the upstream accepts it again', async () => {
    const door = await open();
    const { pro } = door.sandbox.links.keys;
    await door.ask(ALL, pro);
    const restore = refuseKey(door, pro);
    await door.ask('{ domains { nodes { id } } }', pro);
    expect((await door.ask(ALL, pro)).code).toBe('UPSTREAM_UNAUTHENTICATED');
    restore();
    expect((await door.ask(ALL, pro)).errors).toEqual([]);
    expect((await door.ask(SELLER, pro)).errors).toEqual([]);
  });

  it('is none that only may not do one thing', async () => {
    const door = await open();
    const { pro } = door.sandbox.links.keys;
    await door.ask(ALL, pro);
    door.sandbox.links.fault({
      kind: 'answer',
      path: '/api/domains',
      rewrite: () => ({
        status: 403,
        headers: {},
        body: { error: 1, message: 'This API key does not have the required scope.' },
      }),
    });
    expect((await door.ask('{ domains { nodes { id } } }', pro)).code).toBe('UPSTREAM_FORBIDDEN');
    const before = door.calls();
    expect((await door.ask(ALL, pro)).errors).toEqual([]);
    expect(door.calls()).toBe(before);
  });
});

describe('the places for keys', () => {
  it('are not taken by keys that the upstream refuses', async () => {
    const door = await open({ passthroughMaxKeys: '2' });
    const query = '{ account { username } }';
    for (let n = 0; n < 20; n += 1) {
      expect((await door.ask(query, `made-up-${n}`)).code).toBe('UPSTREAM_UNAUTHENTICATED');
    }
    const { admin, pro, free } = door.sandbox.links.keys;
    expect((await door.ask(query, admin)).errors).toEqual([]);
    expect((await door.ask(query, pro)).errors).toEqual([]);
    expect((await door.ask(query, free)).code).toBe('BUDGET_EXHAUSTED');
  });

  it('are not taken by keys that it has not even looked at', async () => {
    const door = await open({ passthroughMaxKeys: '2', MAX_WAIT_MS: '0' });
    const query = '{ account { username } }';
    const restore = door.sandbox.links.fault({ kind: 'refuse-429', retryAfter: 60 });
    for (let n = 0; n < 5; n += 1) {
      expect((await door.ask(query, `made-up-${n}`)).code).toBe('BUDGET_EXHAUSTED');
    }
    restore();
    expect(door.calls()).toBe(5);
    expect((await door.ask(query, door.sandbox.links.keys.pro)).errors).toEqual([]);
  });

  it('are free again once a key is refused that had one', async () => {
    const door = await open({ passthroughMaxKeys: '2' });
    const query = '{ account { username } }';
    const { admin, pro, free } = door.sandbox.links.keys;
    await door.ask(query, admin);
    await door.ask(query, pro);
    expect((await door.ask(query, free)).code).toBe('BUDGET_EXHAUSTED');
    refuseKey(door, pro);
    await door.ask('{ campaigns { nodes { name } } }', pro);
    expect((await door.ask(query, free)).errors).toEqual([]);
  });

  it('never make what a refused key has spent forgotten', async () => {
    const door = await open();
    const query = '{ account { username } }';
    for (let n = 0; n < 3; n += 1) {
      expect((await door.ask(query, 'made-up')).code).toBe('UPSTREAM_UNAUTHENTICATED');
    }
    const { data } = await door.ask('{ rateLimit { used } }', 'made-up');
    expect(data).toEqual({ rateLimit: { used: 3 } });
  });
});

describe('the gateway’s own key, refused', () => {
  const refuse = (door: Door, path?: RegExp, status = 401): (() => void) =>
    door.sandbox.links.fault({
      kind: 'answer',
      ...(path ? { path } : {}),
      rewrite: () => ({ status, headers: {}, body: { error: 1, message: 'Invalid API key' } }),
    });

  it('serves what is fresh to the end of its ttl, and nothing older as if all were well', async () => {
    const door = await open({ AUTH_MODE: 'none', 'ttl.channels': '600000' });
    await door.ask(ALL);
    refuse(door);
    await door.clock.advance(2 * MINUTE);
    expect((await door.ask('{ campaigns { nodes { name } } }')).code).toBe(
      'UPSTREAM_UNAUTHENTICATED',
    );
    const before = door.calls();
    const fresh = await door.ask('{ channels { nodes { name } } }');
    expect([fresh.errors, door.calls()]).toEqual([[], before]);
    await door.clock.advance(10 * MINUTE);
    expect((await door.ask('{ channels { nodes { name } } }')).code).toBe(
      'UPSTREAM_UNAUTHENTICATED',
    );
  });

  it('serves all that is kept again when it is accepted again', async () => {
    const door = await open({ AUTH_MODE: 'none', LINKS_RATE_LIMIT: '30' });
    await door.ask(ALL);
    const restore = refuse(door);
    await door.clock.advance(2 * MINUTE);
    expect((await door.ask('{ campaigns { nodes { name } } }')).code).toBe(
      'UPSTREAM_UNAUTHENTICATED',
    );
    restore();
    expect((await door.ask('{ campaigns { nodes { name } } }')).errors).toEqual([]);
    door.sandbox.links.fault({ kind: 'error-500' });
    // An outage after that is bridged as ever.
    const { errors, text } = await door.ask('{ channels { nodes { name } } }');
    expect(errors).toEqual([]);
    expect(JSON.parse(text).extensions.upstream.stale).toBe(1);
  });

  it('is not thought refused for a write, whose words a caller can choose', async () => {
    const door = await open({ AUTH_MODE: 'none' });
    await door.ask(ALL);
    refuse(door, /pixel\/add/);
    const write = `mutation { createPixel(input: { type: BING, name: "n", tag: "invalid token" }) { __typename } }`;
    expect((await door.ask(write)).code).toBe('UPSTREAM_UNAUTHENTICATED');
    door.sandbox.links.fault({ kind: 'error-500' });
    await door.clock.advance(2 * MINUTE);
    expect((await door.ask('{ channels { nodes { name } } }')).errors).toEqual([]);
  });
});
