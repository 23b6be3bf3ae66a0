import { MockAgent } from 'undici';
import { createDigest } from '../../../src/digest.ts';
import { perResource } from '../../../src/resources.ts';
import { Cache } from '../../../src/upstream/cache/cache.ts';
import type { WatchedChange } from '../../../src/upstream/cache/watches.ts';
import { Client } from '../../../src/upstream/client.ts';
import type { Access } from '../../../src/upstream/operation.ts';
import { Receipt } from '../../../src/upstream/receipt.ts';
import type { Read, Write } from '../../../src/upstream/request.ts';
import { closing } from '../../support/closing.ts';
import { scriptedApi } from '../../support/scripted-upstream.ts';
import { QuickClock } from '../../support/virtual-clock.ts';
import { watched } from '../../support/watched.ts';

const ORIGIN = 'http://upstream';

/** How long an entry of a watch world is fresh, in milliseconds. */
export const TTL = 60_000;

/** The credential whose answers are watched. */
export const credential = { partition: 'p', secret: 'secret' };

/** The given number of names of things to read. */
export const names = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `thing${n}`);

/** A read of a thing, whose answer is touched by its own name, and while it is not there also by `late`. */
export const read = (name: string): Read<unknown> => ({
  method: 'GET',
  path: `/api/${name}`,
  resource: 'items',
  tags: [name],
  page: {
    lateTags: () => [`row of ${name}`],
    inFlightTags: ['late'],
    elsewhereTags: [],
    adopt: (value) => value,
    stamped: () => {},
    further: undefined,
    uncertain: false,
    reload: false,
    keyed: null,
    contents: () => null,
  },
  decode: (body) => body,
});

/** A write that touches these tags. */
export const write = (...touches: string[]): Write<unknown> => ({
  method: 'POST',
  path: '/api/write',
  decode: (body) => body,
  touches: () => touches,
  check: null,
  evidence: null,
});

/** A client over an upstream without sockets, in virtual time; ended with its test. */
export function startWatchWorld({ rateLimit = 30, maxBytes = 10_000_000 } = {}) {
  const clock = new QuickClock().rule();
  const dispatcher = new MockAgent();
  dispatcher.disableNetConnect();
  const log: { readonly name: string; readonly at: number }[] = [];
  const upstream = { status: 200, body: '{}' };
  for (const method of ['GET', 'POST']) {
    dispatcher
      .get(ORIGIN)
      .intercept({ path: () => true, method })
      .reply(({ path }) => {
        log.push({ name: path.replace('/api/', ''), at: clock.now() });
        return { statusCode: upstream.status, data: upstream.body };
      })
      .persist();
  }
  const cache = new Cache({ clock, maxBytes });
  const client = new Client({
    api: scriptedApi,
    baseUrl: ORIGIN,
    dispatcher,
    clock,
    rateWindowMs: 60_000,
    timeoutMs: 10_000,
    timeZone: 'UTC',
    cache,
    freshness: perResource(() => ({
      ttlMs: TTL,
      staleWhileRevalidateMs: 36e5,
      staleIfErrorMs: 864e5,
    })),
    rateLimit,
    digest: createDigest('salt'),
  });
  const access = (watches?: true): Access => ({
    caller: {
      name: 'someone',
      receipt: new Receipt(clock),
      maxWaitMs: 36e5,
      signal: new AbortController().signal,
    },
    credential,
    ...(watches && { mode: watched }),
  });
  closing(() => dispatcher.close());
  const reader = client;
  return {
    client,
    reader,
    clock,
    log,
    upstream,
    access,
    calls: () => log.map(({ name }) => name),
    ask: (name: string) => reader.read(read(name), access()),
    /** Reads what is not kept yet, all at once, and forgets that it was read. */
    async load(wanted: readonly string[]): Promise<void> {
      const filled = Promise.all(wanted.map((name) => reader.read(read(name), access(true))));
      await clock.advance((wanted.length / rateLimit) * 60_000 + 5000);
      await filled;
      log.length = 0;
    },
    watch: (
      name: string,
      changed: (change: WatchedChange) => void = () => {},
      caller = 'someone',
    ) => client.cached.watch(client.keyed(read(name), credential), changed, () => [caller]),
    /** Passes time in steps of a second; `each` looks at what there is after every one. */
    async pass(ms: number, each: () => void = () => {}): Promise<void> {
      for (let passed = 0; passed < ms; passed += 1000) {
        await clock.advance(1000);
        each();
      }
    },
  };
}
