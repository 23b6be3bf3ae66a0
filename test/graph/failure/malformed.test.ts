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

  it('is left out of a list of counts, and the rest of the statistics are intact', async () => {
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
      qrCode: { statistics: { clicks: null, topCountries: [{ label: 'Germany', count: 3 }] } },
    });
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
