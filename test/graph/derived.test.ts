import { beforeAll, describe, expect, it } from 'vitest';
import { type Connection, type Row, startWorld, type World } from '../support/gateway.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});

/** Reads one member of the first item whose description the marketplace sends like this. */
async function textOf(description: unknown, first = 1): Promise<(string | null)[]> {
  const restore = world.sandbox.market.fault({
    kind: 'answer',
    path: '/api/items/all',
    rewrite: (answer) => {
      const { items } = answer.body as { items: Record<string, unknown>[] };
      const [item] = items as [Record<string, unknown>];
      const rows = Array.from({ length: first }, (_, n) => ({ ...item, id: n + 1, description }));
      return { ...answer, body: { status: 'success', items: rows } };
    },
  });
  const other = await startWorld({ on: world.sandbox });
  const query = `{ items(first: ${first}) { nodes { descriptionText } } }`;
  const { items } = await other.data<{ items: Connection<{ descriptionText: string | null }> }>(
    query,
  );
  restore();
  await other.close();
  return items.nodes.map(({ descriptionText }) => descriptionText);
}

describe('Item.descriptionText', () => {
  it.each([
    ['plain text', 'Just a theme', 'Just a theme'],
    ['blocks, as lines', '<p>One</p><p>Two<br>three</p>', 'One\n\nTwo\nthree'],
    [
      'inline tags, without a gap',
      'a <b>bo</b>ld <a href="https://x.example">link</a>',
      'a bold link',
    ],
    ['list items', '<ul>\n <li>One</li>\n <li>Two</li></ul>', 'One\n\nTwo'],
    ['entities, once', 'R&amp;amp;D &lt;b&gt; &amp;nbsp;x', 'R&D x'],
    ['escaped HTML, as HTML', '&lt;p&gt;Hello&lt;/p&gt;', 'Hello'],
    ['scripts and styles, not at all', 'a<SCRIPT>alert(1)</script> <style>b{}</style>z', 'a z'],
    ['a script without an end', 'a<script>alert(1)', 'a'],
    ['comments and declarations', '<!DOCTYPE html>a<!-- <b> -->b<?php x ?>c', 'abc'],
    ['signs that begin no tag', '5 < 6, a<b and x <- y <3', '5 < 6, a<b and x <- y <3'],
    ['nothing', '', ''],
    ['no description', null, null],
  ])('is the text of %s', async (_, html, text) => {
    expect(await textOf(html)).toEqual([text]);
  });

  it('reads 20,000 characters, and marks what is left out', async () => {
    expect(await textOf('x'.repeat(20_000))).toEqual(['x'.repeat(20_000)]);
    expect(await textOf(`${'x'.repeat(20_000)}y`)).toEqual([`${'x'.repeat(20_000)}…`]);
    expect(await textOf(`${'x'.repeat(19_999)}😀`)).toEqual([`${'x'.repeat(19_999)}…`]);
  });

  it.each(['<', '<a ', '<p>', '<script>', '<!--', '&', '&amp;', '<svg', '</', '<a\n'])(
    'of a megabyte of %j is found for four items while other work goes on',
    async (piece) => {
      const html = piece.repeat(Math.ceil(1_000_000 / piece.length));
      const texts = await textOf(html, 4);
      for (const text of texts) expect(text?.length).toBeLessThanOrEqual(20_001);
      expect(new Set(texts).size).toBe(1);
    },
  );
});

describe('Campaign.slug', () => {
  const query = 'query ($id: ID!) { campaign(id: $id) { slug rotatorUrl } }';

  it('is what a campaign was created with, and null without a rotator', async () => {
    const create = `mutation ($slug: String) { made: createCampaign(input: { name: "x", slug: $slug }) {
      ... on Campaign { id slug rotatorUrl } } }`;
    const { made } = await world.data<{ made: Row }>(create, { slug: 'summer-sale' });
    expect(made).toMatchObject({ slug: 'summer-sale' });
    expect(await world.data(query, { id: made['id'] })).toMatchObject({
      campaign: { slug: 'summer-sale' },
    });
    const bare = await world.data<{ made: Row }>(create);
    expect(bare.made).toMatchObject({ slug: null, rotatorUrl: null });
  });

  it.each([
    ['https://go.example/r/gr%C3%B6%C3%9Fe', 'größe'],
    ['https://go.example/s/r/late/?utm=1#x', 'late'],
    ['https://go.example/r/100%', '100%'],
    ['https://go.example', null],
    ['not a URL', null],
    [false, null],
  ])('of the rotator %j is %j', async (rotator, slug) => {
    const restore = world.sandbox.links.fault({
      kind: 'answer',
      path: '/api/campaigns',
      rewrite: (answer) => {
        const { data } = answer.body as { data: { campaigns: Record<string, unknown>[] } };
        for (const row of data.campaigns) row['rotator'] = rotator;
        return answer;
      },
    });
    const other = await startWorld({ on: world.sandbox });
    const { data, receipt } = await other.ask<{ campaigns: Connection<Row> }>(
      '{ campaigns(first: 1) { nodes { slug } } }',
    );
    expect([data.campaigns.nodes, receipt.calls]).toEqual([[{ slug }], 1]);
    restore();
  });
});

describe('Times', () => {
  it.each(['overlays', 'splashPages', 'files', 'pixels', 'qrCodes'])(
    'of %s are the same under the name that all types have',
    async (list) => {
      const { rows } = await world.data<{ rows: Connection<Row> }>(
        `{ rows: ${list}(first: 5) { nodes { createdAt date } } }`,
      );
      expect(rows.nodes.length).toBeGreaterThan(0);
      for (const { createdAt, date } of rows.nodes) {
        expect(createdAt).toEqual(expect.any(String));
        expect(createdAt).toBe(date);
      }
    },
  );

  it('of accounts, users and purchases are too', async () => {
    const times = 'registeredAt registered expiresAt expires';
    const [code] = world.sandbox.market.purchaseCodes.valid;
    const { account, users, purchase } = await world.data<{
      account: Row;
      users: Row[];
      purchase: Row;
    }>(
      `query ($code: String!) { account { ${times} } users { ${times} }
        purchase(code: $code) { createdAt date } }`,
      { code },
    );
    for (const row of [account, ...users]) {
      expect(row['registeredAt']).toEqual(expect.any(String));
      expect(row).toMatchObject({ registered: row['registeredAt'], expires: row['expiresAt'] });
    }
    expect(users.some(({ expiresAt }) => expiresAt !== null)).toBe(true);
    expect(purchase).toEqual({ createdAt: purchase['date'], date: expect.any(String) });
  });
});
