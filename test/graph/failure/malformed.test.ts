import { describe, expect, it } from 'vitest';
import type { Connection, Row } from '../../support/gateway.ts';
import { FailureStage } from './failure-stage.ts';

const stage = new FailureStage();

describe('A malformed member', () => {
  /** Scripts every row of a list. */
  function rows(path: string, key: string, edit: (row: Record<string, unknown>) => void): void {
    stage.sandbox.links.fault({
      kind: 'answer',
      path,
      rewrite: (answer) => {
        const body = answer.body as Record<string, unknown> & { data?: Record<string, unknown> };
        for (const row of (body.data ?? body)[key] as Record<string, unknown>[]) edit(row);
        return answer;
      },
    });
  }

  it('is null without an error, and the rest of its row is intact', async () => {
    const { ask } = await stage.start();
    rows('/api/qr', 'qrs', (row) =>
      Object.assign(row, { scans: { many: 1 }, date: 'soon', link: 7 }),
    );
    const { data, errors } = await ask<{ qrCodes: Connection<Row> }>(
      '{ qrCodes(first: 3) { nodes { databaseId name scans date link } } }',
    );
    expect(errors).toEqual([]);
    for (const row of data.qrCodes.nodes) {
      expect(row).toMatchObject({ name: expect.stringMatching(/\w/), scans: null, date: null });
    }
  });

  it('is null without an error for a number too large for the graph', async () => {
    const { ask } = await stage.start();
    rows('/api/qr', 'qrs', (row) => Object.assign(row, { scans: 5_000_000_000 }));
    rows('/api/files', 'list', (row) => Object.assign(row, { downloads: '99999999999999' }));
    const { data, errors, text } = await ask<{ qrCodes: Connection<Row>; files: Connection<Row> }>(
      '{ qrCodes(first: 1) { nodes { name scans } } files(first: 1) { nodes { name downloads } } }',
    );
    expect(errors, text).toEqual([]);
    expect(data.qrCodes.nodes).toEqual([{ name: expect.any(String), scans: null }]);
    expect(data.files.nodes).toEqual([{ name: expect.any(String), downloads: null }]);
  });

  it('is null in a list of counts, and the rest of the statistics are intact', async () => {
    const { ask } = await stage.start();
    stage.sandbox.links.fault({
      kind: 'answer',
      path: '/api/qr/301',
      rewrite: (answer) => {
        const { data } = answer.body as { data: Record<string, unknown> };
        data['topCountries'] = { Germany: '3', Nowhere: 'many', Everywhere: 9_000_000_000 };
        data['clicks'] = { all: 3 };
        return answer;
      },
    });
    const { data, errors, text } = await ask(
      '{ qrCode(id: 301) { statistics { clicks topCountries { label count } } } }',
    );
    expect(errors, text).toEqual([]);
    expect(data).toEqual({
      qrCode: {
        statistics: {
          clicks: null,
          topCountries: [
            { label: 'Germany', count: 3 },
            { label: 'Nowhere', count: null },
            { label: 'Everywhere', count: null },
          ],
        },
      },
    });
  });

  it.each<[unknown, number | null]>([
    ['1,234', 1234],
    [' 7 ', 7],
    ['1,234,567', 1_234_567],
    ['1 234', 1234],
    ['12.0', 12],
    [7.0, 7],
    [7.6, 8],
    ['7.6', 8],
    ['1,234.00', 1234],
    ['+5', 5],
    ['1.5e3', 1500],
    ['', null],
    [null, null],
    [{}, null],
    ['many', null],
    // A fraction in one country, and digits in groups in another.
    ['1.234', null],
    ['1,23', null],
    ['1,2345', null],
    [9_000_000_000, null],
  ])('as every count: %j is read as %j', async (sent, count) => {
    const { ask } = await stage.start();
    const map = { Germany: 3, Peru: sent };
    stage.sandbox.links.fault({
      kind: 'answer',
      path: '/api/qr/301',
      rewrite: (answer) => {
        const statistics = { clicks: sent, uniqueClicks: sent, socialCount: map };
        const tops = { topCountries: map, topReferrers: map, topBrowsers: map, topOs: map };
        (answer.body as Record<string, unknown>)['data'] = { ...statistics, ...tops };
        return answer;
      },
    });
    stage.sandbox.links.fault({
      kind: 'answer',
      path: '/api/plans',
      rewrite: (answer) => {
        const limits = {
          links: sent,
          clicks: sent,
          retention: sent,
          team: { enabled: '1', count: sent },
        };
        const [plan] = (answer.body as { data: Record<string, unknown>[] }).data;
        Object.assign(plan ?? {}, { limits });
        return answer;
      },
    });
    rows('/api/qr', 'qrs', (row) => Object.assign(row, { scans: sent }));
    rows('/api/files', 'list', (row) => Object.assign(row, { downloads: sent }));
    const list = '{ label count }';
    const { data, errors } = await ask<Record<string, never>>(`{
      qrCode(id: 301) { statistics { clicks uniqueClicks topCountries ${list} topReferrers ${list}
        topBrowsers ${list} topOperatingSystems ${list} socialCounts ${list} } }
      plans { limits { links clicks retention features { count } } }
      qrCodes(first: 1) { nodes { scans } }
      files(first: 1) { nodes { downloads } }
    }`);
    expect(errors).toEqual([]);
    const counts = [
      { label: 'Germany', count: 3 },
      { label: 'Peru', count },
    ].sort((a, b) => (b.count ?? -1) - (a.count ?? -1));
    expect(data['qrCode']).toEqual({
      statistics: {
        clicks: count,
        uniqueClicks: count,
        topCountries: counts,
        topReferrers: counts,
        topBrowsers: counts,
        topOperatingSystems: counts,
        socialCounts: counts,
      },
    });
    expect(data['plans']?.[0]).toEqual({
      limits: { links: count, clicks: count, retention: count, features: [{ count }] },
    });
    expect(data['qrCodes']).toEqual({ nodes: [{ scans: count }] });
    expect(data['files']).toEqual({ nodes: [{ downloads: count }] });
  });

  it.each<[unknown, number | null]>([
    ['1,234.50', 1234.5],
    [' 7 ', 7],
    ['1,234', 1234],
    ['9.99', 9.99],
    [9.99, 9.99],
    ['free', null],
    ['9,99', null],
  ])('as every amount: %j is read as %j', async (sent, amount) => {
    const { ask } = await stage.start();
    const prices = { monthly: sent, yearly: sent, lifetime: sent };
    stage.sandbox.links.fault({
      kind: 'answer',
      path: '/api/plans',
      rewrite: (answer) => {
        const [plan] = (answer.body as { data: Record<string, unknown>[] }).data;
        Object.assign(plan ?? {}, { prices });
        return answer;
      },
    });
    stage.sandbox.market.fault({
      kind: 'answer',
      path: '/api/items/all',
      rewrite: (answer) => {
        const [item] = (answer.body as { items: Record<string, unknown>[] }).items;
        Object.assign(item ?? {}, { price: { regular: sent, extended: sent } });
        return answer;
      },
    });
    stage.sandbox.market.fault({
      kind: 'answer',
      path: '/api/account/details',
      rewrite: (answer) => {
        Object.assign((answer.body as { data: object }).data, { balance: sent });
        return answer;
      },
    });
    const { data, errors } = await ask<Record<string, never>>(`{
      plans { prices { monthly yearly lifetime } }
      items(first: 1) { nodes { price { regular extended } } }
      seller { balance }
    }`);
    expect(errors).toEqual([]);
    expect(data['plans']?.[0]).toEqual({
      prices: { monthly: amount, yearly: amount, lifetime: amount },
    });
    expect(data['items']).toEqual({ nodes: [{ price: { regular: amount, extended: amount } }] });
    expect(data['seller']).toEqual({ balance: amount });
  });

  it('of an unknown kind has no type and keeps the upstream’s word for it', async () => {
    const { ask } = await stage.start();
    rows('/api/pixels', 'pixels', (row) => Object.assign(row, { type: 'mastodonpixel' }));
    const { data, errors } = await ask<{ pixels: Connection<Row> }>(
      '{ pixels(first: 1) { nodes { type typeName name } } }',
    );
    expect(errors).toEqual([]);
    expect(data.pixels.nodes).toEqual([
      { type: null, typeName: 'mastodonpixel', name: expect.any(String) },
    ]);
  });
});
