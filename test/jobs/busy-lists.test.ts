import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { StandIn, upTo } from '../graph/paging/stand-in.ts';
import { rounds } from '../support/rounds.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { jobWorld } from './job-world.ts';

/** A change by someone else, right before a request is answered. */
interface Change {
  readonly kind: 'create' | 'delete';
  /** Where a row is deleted, as a share of the list. */
  readonly at: number;
}

describe('an export of a list that changes between any two of its requests', () => {
  let upstream: StandIn;

  beforeAll(async () => {
    upstream = await StandIn.start();
  });

  /** Exports the list while rows come and go; the ids in its output. */
  async function exported(rows: number, pageSize: number, before: (nth: number) => void) {
    upstream.channels = upTo(rows);
    upstream.log.length = 0;
    upstream.before = before;
    const clock = new VirtualClock();
    const env = { LINKS_BASE_URL: upstream.baseUrl, LINKS_PAGE_SIZE: String(pageSize) };
    const world = await jobWorld({ clock, env });
    const id = await world.exports('{ channels { nodes { databaseId } } }');
    const job = await world.until(id, 'DONE');
    const text = await (await world.output(id)).text();
    const ids = text.split('\n').flatMap((line) => (line ? [JSON.parse(line).databaseId] : []));
    upstream.before = () => {};
    return { job, ids: ids as number[], requests: upstream.log.length };
  }

  it('has the rows that move to a page that was read, in as few requests', async () => {
    const { ids, requests } = await exported(500, 100, (nth) => {
      if (nth >= 2 && nth <= 4) upstream.channels.shift();
    });
    expect(new Set(ids).size).toBe(ids.length);
    expect(upTo(500).filter((id) => !ids.includes(id))).toEqual([]);
    expect(requests).toBeLessThanOrEqual(8);
  });

  it('costs one request for each page where nothing changes', async () => {
    const { ids, requests } = await exported(500, 100, () => {});
    expect(ids).toEqual(upTo(500));
    expect(requests).toBe(5);
  });

  const change = fc.record({
    kind: fc.constantFrom('create' as const, 'delete' as const),
    at: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  });
  const story = fc.record({
    rows: fc.integer({ min: 1, max: 120 }),
    pageSize: fc.constantFrom(10, 17, 30),
    newestFirst: fc.boolean(),
    changes: fc.array(fc.option(change, { freq: 3 }), { maxLength: 25, size: 'max' }),
  });

  it('has each row once that was there all along, whatever the order of the list', async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ rows, pageSize, newestFirst, changes }) => {
        const stable = new Set(upTo(rows));
        const apply = ({ kind, at }: Change, made: number): void => {
          const { channels } = upstream;
          if (kind === 'create') {
            if (newestFirst) channels.unshift(made);
            else channels.push(made);
            return;
          }
          const [gone] = channels.splice(Math.floor(at * (channels.length - 1)), 1);
          if (gone !== undefined) stable.delete(gone);
        };
        const { ids } = await exported(rows, pageSize, (nth) => {
          const each = changes[nth - 2];
          if (each) apply(each, 1000 + nth);
        });
        expect(new Set(ids).size).toBe(ids.length);
        expect([...stable].filter((id) => !ids.includes(id))).toEqual([]);
      }),
      { numRuns: rounds(12) },
    );
  });
});
