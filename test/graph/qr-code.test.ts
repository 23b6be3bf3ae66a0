import { beforeAll, describe, expect, it } from 'vitest';
import { type Connection, type Row, startWorld, type World } from '../support/gateway.ts';
import { everyRow } from './rest.ts';

let world: World;
let codes: readonly Row[];

beforeAll(async () => {
  world = await startWorld();
  codes = await everyRow(world, '/api/qr', 'qrs');
});

/** Counts of the statistics object as the graph must answer them: numbers, largest first. */
function counts(map: unknown): { label: string; count: number }[] {
  return Object.entries(map as Record<string, string | number>)
    .map(([label, count]) => ({ label, count: Number(count) }))
    .sort((a, b) => b.count - a.count);
}

function statistics(data: Row): Row {
  return {
    clicks: data['clicks'],
    uniqueClicks: data['uniqueClicks'],
    topCountries: counts(data['topCountries']),
    topReferrers: counts(data['topReferrers']),
    topBrowsers: counts(data['topBrowsers']),
    topOperatingSystems: counts(data['topOs']),
    socialCounts: counts(data['socialCount']),
  };
}

const list = '{ label count }';
const fields = `statistics {
  clicks uniqueClicks topCountries ${list} topReferrers ${list} topBrowsers ${list}
  topOperatingSystems ${list} socialCounts ${list}
}`;

describe('QrCode.statistics', () => {
  it('answers who scanned each code, in lists with the largest count first', async () => {
    const { qrCodes } = await world.data<{ qrCodes: Connection<Row> }>(
      `{ qrCodes(first: 12) { nodes { ${fields} } } }`,
    );
    const expected = await Promise.all(
      codes.slice(0, 12).map(async ({ id }) => {
        const { data } = await world.links<{ data: Row }>(`/api/qr/${String(id)}`);
        return { statistics: statistics(data) };
      }),
    );
    expect(qrCodes.nodes).toEqual(expected);
  });

  it('has empty lists for a code that was never scanned', async () => {
    const unseen = codes.find(({ scans }) => scans === 0);
    const { qrCode } = await world.data(
      `query ($id: ID!) { qrCode(id: $id) { scans ${fields} } }`,
      { id: String(unseen?.['id']) },
    );
    expect(qrCode).toMatchObject({
      scans: 0,
      statistics: { clicks: 0, uniqueClicks: 0, topCountries: [], topOperatingSystems: [] },
    });
  });

  it.each([
    ['is absent', (body: Record<string, unknown>) => delete body['data']],
    ['is an empty list', (body: Record<string, unknown>) => (body['data'] = [])],
  ])('is null without an error when the upstream’s statistics object %s', async (_title, edit) => {
    const other = await startWorld({ on: world.sandbox });
    const restore = world.sandbox.links.fault({
      kind: 'answer',
      path: /^\/api\/qr\/\d+$/,
      rewrite: (answer) => {
        edit(answer.body as Record<string, unknown>);
        return answer;
      },
    });
    const query = 'query ($id: ID!) { qrCode(id: $id) { databaseId statistics { clicks } } }';
    const { qrCode } = await other.data(query, { id: String(codes[0]?.['id']) });
    restore();
    expect(qrCode).toEqual({ databaseId: codes[0]?.['id'], statistics: null });
  });
});
