import { beforeEach, describe, expect, it } from 'vitest';
import type { ReceiptSummary } from '../../../src/upstream/receipt.ts';
import { Agent } from '../../support/agent.ts';
import { type Door, openDoor } from '../../support/door.ts';

const TTL = 60_000;
const env = {
  AUTH_MODE: 'none',
  'ttl.account': String(TTL),
  'ttl.channels': String(TTL),
  'ttl.channelItems': String(TTL),
};
/** Three entries of two kinds, and those of the items of two channels. */
const query =
  '{ account { username } channels(first: 2) { nodes { items(first: 3) { totalCount } } } }';
const CALLS = 4;

describe('The receipts of responses', () => {
  let door: Door;
  beforeEach(async () => {
    door = await openDoor(env);
  });

  const receiptIn = (text: string): ReceiptSummary => {
    const json = /"upstream":(\{[^}]*\}[^}]*\})/.exec(text)?.[1];
    return JSON.parse(json ?? 'null');
  };
  /** The ways to a response: the first is executed at once or repeated from memory, if that is possible. */
  const ways = {
    socket: async () => receiptIn((await door.ask(query)).text),
    executor: async () => {
      const request = new Request('http://gateway/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      });
      return receiptIn(await (await door.gateway.fetch(request)).text());
    },
    parts: async () => {
      const deferred = query.replace('account { username }', '... @defer { account { username } }');
      const headers = { accept: 'multipart/mixed' };
      return receiptIn((await door.ask(deferred, null, { headers })).text);
    },
    agent: async () => {
      const { cost } = await new Agent(door.url).call('graph_read', { operation: query });
      const number = (pattern: RegExp) => Number(pattern.exec(cost)?.[1] ?? 0);
      return { calls: number(/cost (\d+)/), refreshes: number(/(\d+) refreshing/) };
    },
  };

  it.each(Object.keys(ways) as (keyof typeof ways)[])(
    'name the refreshes that they start, by the way of the %s',
    async (way) => {
      const read = ways[way];
      for (const [ageMs, calls, refreshes] of [
        [0, CALLS, 0],
        // Read twice since their requests, they are due early.
        [0.85 * TTL, 0, 0],
        [2000, 0, CALLS],
        [1.5 * TTL, 0, CALLS],
        [2.5 * TTL, CALLS, 0],
        [1.5 * TTL, 0, CALLS],
        [0, 0, 0],
      ] as const) {
        await door.clock.advance(ageMs);
        const before = door.calls();
        expect(await read()).toMatchObject({ calls, refreshes });
        await door.clock.settle();
        expect(door.calls() - before).toBe(calls + refreshes);
      }
    },
  );

  it('are the log of the API together, whoever reads in between', async () => {
    const before = door.calls();
    let told = 0;
    for (const [n, ageMs] of [0, 0, 0.9, 0, 0, 1.2, 0, 2.1, 0.9, 1.9, 0.5, 0.5, 3].entries()) {
      await door.clock.advance(ageMs * TTL);
      for (const [m, read] of Object.values(ways).entries()) {
        const { calls, refreshes } = await read();
        told += calls + refreshes;
        if ((n + m) % 2 === 0) await door.clock.settle();
      }
      await door.clock.settle();
      expect(door.calls() - before).toBe(told);
    }
  });

  describe('while slots are rare', () => {
    const account = async () => receiptIn((await door.ask('{ account { username } }')).text);
    /** Five requests. */
    const others =
      '{ pixels { totalCount } domains { totalCount } files { totalCount } campaigns { totalCount } qrCodes { totalCount } }';
    let before: number;
    const sent = () => door.calls() - before;

    beforeEach(async () => {
      await door.close();
      const rare = {
        ...env,
        staleWhileRevalidateMs: '15000',
        LINKS_RATE_LIMIT: '6',
        OPERATION_MAX_CALLS: '6',
        MAX_WAIT_MS: '20000',
      };
      door = await openDoor(rare, { sandbox: { limit: { requests: 6, windowMs: 1 } } });
      before = door.calls();
      expect(await account()).toMatchObject({ calls: 1, refreshes: 0 });
    });

    it('count a refresh once for which others wait before its turn', async () => {
      await door.clock.advance(1.2 * TTL);
      expect(receiptIn((await door.ask(others)).text)).toMatchObject({ calls: 5, refreshes: 0 });
      // The last slot is left for readers.
      expect(await account()).toMatchObject({ calls: 0, stale: 1, refreshes: 1 });
      await door.clock.advance(5000);
      expect(sent()).toBe(6);
      expect(await account()).toMatchObject({ calls: 0, saved: { coalesced: 1 }, refreshes: 0 });
      expect(sent()).toBe(7);
    });

    it('count a read that goes on without its reader', async () => {
      await door.clock.advance(1.2 * TTL);
      const five = door.ask(others);
      await door.clock.advance(1000);
      expect(receiptIn((await five).text)).toMatchObject({ calls: 5 });
      expect((await door.ask('{ plans { name } }')).data).toMatchObject({
        plans: expect.anything(),
      });
      await door.clock.advance(50_000);
      expect(sent()).toBe(7);
      const old = account();
      await door.clock.advance(3000);
      expect(await old).toMatchObject({ calls: 0, stale: 1, refreshes: 1 });
      expect(sent()).toBe(7);
      await door.clock.advance(20_000);
      expect(sent()).toBe(8);
    });
  });
});
