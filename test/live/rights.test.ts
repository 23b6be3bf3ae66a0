import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatTokenFile, type KnownToken } from '../../src/auth/token-file.ts';
import { type Door, openDoor } from '../support/door.ts';
import { known, tempFolder } from '../support/folder.ts';
import { LiveViewer, type Looking } from '../support/live-viewer.ts';
import { refuseKey } from '../support/refused-key.ts';

const ACCOUNT = 'query @live { account { username } }';

const folder = tempFolder();
const file = join(folder, 'tokens.json');

let door: Door;

function look(looking: Looking): LiveViewer {
  return LiveViewer.open(door.url, looking);
}

const begun = (looking: Looking): Promise<LiveViewer> => LiveViewer.begun(door.url, looking);

let changes = 0;
function keep(...tokens: readonly Partial<KnownToken>[]): void {
  const all = tokens.map(({ name = 'web', role = 'editor', ...more }) =>
    known({ name, role, token: `${name}-token`, ...more }),
  );
  writeFileSync(file, formatTokenFile(all));
  changes += 1;
  // However coarse the file system's clock is.
  utimesSync(file, new Date(), new Date(Date.now() + changes * 5000));
}

async function openWithTokens(...tokens: readonly Partial<KnownToken>[]): Promise<void> {
  keep(...tokens);
  door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
}

/** How a stream ended: the code of its last error, and the name of its last event. */
function end({ events }: LiveViewer) {
  const error = events.findLast(({ data }) => data?.errors)?.data?.errors?.[0];
  return [error?.extensions?.code, events.at(-1)?.name];
}

describe('the rights of a viewer', () => {
  it('are looked at before the stream begins', async () => {
    await openWithTokens({});
    const nobody = await look({ query: ACCOUNT, token: 'nobody' }).untilEnded();
    expect(nobody.status).toBe(401);
    expect(nobody.told).toContain('UNAUTHENTICATED');
  });

  it('end with the token, while the stream of another goes on', async () => {
    await openWithTokens({ name: 'short', expires: '2030-01-01T00:01:00Z' }, {});
    const short = await begun({ query: ACCOUNT, token: 'short-token' });
    const web = await begun({ query: ACCOUNT, token: 'web-token' });
    await door.clock.advance(90_000);
    await short.untilEnded();
    expect(end(short)).toEqual(['UNAUTHENTICATED', 'complete']);
    expect(web.ended).toBe(false);
  });

  it.each([
    ['raised', 'viewer', 'admin'],
    ['lowered', 'admin', 'viewer'],
  ] as const)(
    'are those of a role that is %s, once they come back: %s to %s',
    async (change, before, after) => {
      const isRaised = change === 'raised';
      await openWithTokens({ role: before });
      const query = 'query @live { account { username } users { email } }';
      const users = ({ data }: LiveViewer) => (data as Record<string, unknown>)['users'];
      const viewer = await begun({ query, token: 'web-token' });
      expect(users(viewer) === null).toBe(isRaised);
      keep({ role: after });
      for (let n = 0; n < 8; n += 1) await door.clock.advance(10_000);
      await viewer.untilEnded();
      expect(viewer.events.at(-1)?.retryMs).toBe(1000);
      const again = await begun({ query, token: 'web-token' });
      expect(users(again) === null).toBe(!isRaised);
      expect(again.document.errors?.[0]?.extensions?.code).toBe(isRaised ? undefined : 'FORBIDDEN');
    },
  );

  it('are those of the role: what it may not see is an error at its path', async () => {
    await openWithTokens({ role: 'viewer' }, { name: 'boss', role: 'admin' });
    const query = 'query @live { account { username } users { email } }';
    const viewer = await begun({ query, token: 'web-token' });
    const boss = await begun({ query, token: 'boss-token' });
    expect(viewer.document.errors?.[0]?.extensions?.code).toBe('FORBIDDEN');
    expect((viewer.data as Record<string, unknown>)['users']).toBeNull();
    expect(boss.document.errors).toBeUndefined();
  });

  it('end when the upstream refuses their key, for all who have it and no other caller', async () => {
    door = await openDoor({ AUTH_MODE: 'passthrough' });
    const { free, pro } = door.sandbox.links.keys;
    const mine = await Promise.all([1, 2].map(() => begun({ query: ACCOUNT, token: pro })));
    const other = await begun({ query: ACCOUNT, token: free });
    expect(other.document).not.toEqual(mine[0]?.document);
    refuseKey(door, pro);
    await door.ask('{ domains { nodes { id } } }', pro);
    for (const viewer of mine) {
      await viewer.untilEnded();
      expect(end(viewer)).toEqual(['UPSTREAM_UNAUTHENTICATED', 'complete']);
    }
    expect(other.ended).toBe(false);
  });
});

describe('a live query that is refused', () => {
  it.each([
    [
      'a mutation',
      'mutation @live { deletePixel(id: 1) { __typename } }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    ['a secret', 'query @live { users { apiKey } }', 'BAD_USER_INPUT'],
    [
      'a secret in a fragment',
      'query @live { users { ...Key } } fragment Key on User { key: apiKey }',
      'BAD_USER_INPUT',
    ],
    ['a throttle below 0', 'query @live(throttle: -1) { account { username } }', 'BAD_USER_INPUT'],
    [
      'a throttle of ages',
      'query @live(throttle: 2000000000) { account { username } }',
      'BAD_USER_INPUT',
    ],
    [
      'a throttle of ages by a default',
      'query ($ms: Int = 2000000000) @live(throttle: $ms) { account { username } }',
      'BAD_USER_INPUT',
    ],
    [
      'a variable that is missing',
      'query ($id: ID!) @live { campaign(id: $id) { name } }',
      'BAD_USER_INPUT',
    ],
    [
      'too many rows',
      'query @live { channels(first: 500) { nodes { items(first: 500) { nodes { __typename } } } } }',
      'OPERATION_TOO_EXPENSIVE',
    ],
  ])('costs no call: %s', async (_, query, code) => {
    door = await openDoor({ AUTH_MODE: 'none', EXPOSE_USER_API_KEYS: 'true' });
    const viewer = await look({ query }).untilEnded();
    expect(viewer.told).toContain(code);
    expect(door.calls()).toBe(0);
    expect((await door.send('/metrics')).text).toMatch(/^gateway_live_streams 0$/m);
  });

  it.each([
    ['as many as one caller may have', { liveMaxStreamsPerCaller: '2' }],
    ['as many as there may be', { liveMaxStreams: '2' }],
  ])('is one too many: there are %s', async (_, env) => {
    door = await openDoor({ AUTH_MODE: 'none', ...env });
    const [first] = await Promise.all([begun({ query: ACCOUNT }), begun({ query: ACCOUNT })]);
    const third = await look({ query: ACCOUNT }).untilEnded();
    expect([third.status, third.told]).toEqual([429, expect.stringContaining('TOO_MANY_STREAMS')]);
    expect(third.told).toMatch(/"retryAfterMs":\d+/);
    first?.close();
    await door.clock.settle();
    await begun({ query: ACCOUNT });
  });

  it('holds results of a size in all, whatever their number', async () => {
    door = await openDoor({ AUTH_MODE: 'none', CACHE_MAX_BYTES: '100000' });
    const ask = (n: number) => ({
      query: `query @live { qrCodes(first: ${n}) { nodes { id name } } }`,
    });
    const codes: string[] = [];
    for (let n = 1; n < 200; n += 1) {
      const viewer = look(ask(n));
      await viewer.until(({ ended, revision }) => ended || revision > 0).catch(() => {});
      if (viewer.status !== 200) codes.push(viewer.told);
      if (codes.length > 0) break;
    }
    expect(codes[0]).toContain('TOO_MANY_STREAMS');
  });
});
