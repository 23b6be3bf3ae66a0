import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { mostArrivals } from '../../support/window.ts';
import { GatewayProcess } from './gateway-process.ts';
import { LIMIT, settings, WINDOW_MS } from './times.ts';
import { WritesUpstream } from './upstream.ts';

/** `npm run soak:writes` makes 1,000 of them. */
const count = Number(process.env['WRITES_INCREMENTS'] ?? 12);

/** Callers at a time. */
const CALLERS = 12;
const REST_MS = 50;
const CREATE = `mutation {
  result: createChannel(input: { name: "Counter", description: "0" }) { ... on Channel { databaseId } }
}`;
const UPDATE = `mutation ($id: ID!, $from: String!, $to: String!) {
  result: updateChannel(input: { id: $id, description: $to }, expected: { description: $from }) {
    kind: __typename
    ... on Conflict { current { ... on Channel { description } } }
  }
}`;

/** What an update has returned. */
interface Updated {
  readonly kind: string;
  readonly current?: { readonly description: string };
}

describe('A number in a description', () => {
  it(
    'is incremented once by each of many callers, who expect what they have read',
    async () => {
      await using upstream = await WritesUpstream.start([]);
      await using gateway = new GatewayProcess({
        ...settings(upstream),
        // No response is lost, however slow the machine is.
        LINKS_TIMEOUT_MS: '30000',
        STATE_DIR: 'off',
      });
      await gateway.listens();
      let keys = 0;
      /** Sends a mutation with a key of its own until it has a result. */
      const result = async (query: string, variables: Record<string, unknown>) => {
        keys += 1;
        const headers = { 'idempotency-key': `"${keys}"` };
        for (;;) {
          const { data, errors } = await gateway.ask({ query, variables, headers });
          const [error] = errors ?? [];
          if (!error) return data?.['result'];
          // Another error can be corrected by no retry.
          expect(error.extensions).toHaveProperty('retryAfterMs');
          await pause(Math.max(error.extensions?.retryAfterMs ?? 0, REST_MS));
        }
      };
      const { databaseId: id } = (await result(CREATE, {})) as { readonly databaseId: number };
      let left = count;
      let conflicts = 0;
      const caller = async (): Promise<void> => {
        let seen = 0;
        while (left > 0) {
          left -= 1;
          for (;;) {
            const change = { id, from: String(seen), to: String(seen + 1) };
            const { current, kind } = (await result(UPDATE, change)) as Updated;
            if (kind !== 'Conflict') break;
            conflicts += 1;
            seen = Number(current?.description);
          }
          seen += 1;
        }
      };
      await Promise.all(Array.from({ length: CALLERS }, caller));
      const { requests } = upstream;
      const most = mostArrivals(requests, WINDOW_MS);
      console.info(
        `${count} increments, ${conflicts} conflicts, ${requests.length} upstream requests, at most ${most} in a window: ${upstream.description(id)}`,
      );
      expect(upstream.description(id)).toBe(String(count));
      expect(most).toBeLessThanOrEqual(LIMIT);
    },
    60_000 + 2000 * count,
  );
});
