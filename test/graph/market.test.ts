import { beforeAll, describe, expect, it } from 'vitest';
import { type Connection, type Row, startWorld, type World } from '../support/gateway.ts';
import { moment, plain } from './rest.ts';

let world: World;
let items: readonly Row[];

beforeAll(async () => {
  world = await startWorld();
  ({ items } = await world.market<{ items: Row[] }>('/api/items/all'));
});

const fields = `databaseId name description category subCategory options version demoLink tags
  media { kind thumbnail previewImage previewVideo previewAudio screenshots }
  price { regular extended } currency publishedAt`;

/** An item as the graph must answer it. */
function item(row: Row): Row {
  const media = row['media'] as Row;
  return {
    databaseId: row['id'],
    name: plain(row['name']),
    description: plain(row['description']),
    category: plain(row['category']),
    subCategory: plain(row['sub_category']),
    options: row['options'],
    version: row['version'],
    demoLink: row['demo_link'],
    tags: row['tags'],
    media: {
      kind: media['preview_audio'] ? 'AUDIO' : media['preview_video'] ? 'VIDEO' : 'IMAGE',
      thumbnail: media['thumbnail'],
      previewImage: media['preview_image'] ?? null,
      previewVideo: media['preview_video'] ?? null,
      previewAudio: media['preview_audio'] ?? null,
      screenshots: media['screenshots'] ?? [],
    },
    price: row['price'],
    currency: row['currency'],
    publishedAt: moment(row['published_at']),
  };
}

describe('Query.seller', () => {
  it('answers every field of the seller whose key the gateway uses', async () => {
    const { data } = await world.market<{ data: Row }>('/api/account/details');
    const name = data['name'] as Row;
    const profile = data['profile'] as Row & { contact: Row; media: Row; social_links: Row };
    const answer = await world.data(`{ seller {
      firstName lastName fullName username email balance currency registeredAt
      profile { heading description contactEmail avatar cover socialLinks { network path } }
    } }`);
    expect(answer).toEqual({
      seller: {
        firstName: name['firstname'],
        lastName: name['lastname'],
        fullName: name['full_name'],
        username: data['username'],
        email: data['email'],
        balance: data['balance'],
        currency: data['currency'],
        registeredAt: moment(data['registered_at']),
        profile: {
          heading: plain(profile['heading']),
          description: plain(profile['description']),
          contactEmail: profile.contact['email'],
          avatar: profile.media['avatar'],
          cover: profile.media['cover'],
          socialLinks: Object.entries(profile.social_links).map(([network, path]) => ({
            network,
            path,
          })),
        },
      },
    });
  });
});

describe('Query.items', () => {
  it('answers every field of every item of all three media kinds', async () => {
    const answer = await world.data(`{ items(first: 500) { totalCount nodes { ${fields} } } }`);
    expect(answer).toEqual({ items: { totalCount: items.length, nodes: items.map(item) } });
    const kinds = items.map((row) => (item(row)['media'] as Row)['kind']);
    expect(new Set(kinds)).toEqual(new Set(['IMAGE', 'VIDEO', 'AUDIO']));
  });

  const text = (row: Row) =>
    [row['name'], row['description'], row['category'], row['sub_category'], row['tags']]
      .flat()
      .map(plain)
      .join(' ')
      .toLowerCase();

  interface Filter {
    readonly search?: string;
    readonly category?: string;
    readonly tag?: string;
  }

  async function found(filter: Filter): Promise<unknown> {
    const { items: list } = await world.data<{ items: Connection<{ databaseId: number }> }>(
      `query ($search: String, $category: String, $tag: String) {
        items(search: $search, category: $category, tag: $tag, first: 500) { totalCount nodes { databaseId } } }`,
      { ...filter },
    );
    expect(list.totalCount).toBe(list.nodes.length);
    return list.nodes.map(({ databaseId }) => databaseId);
  }

  function ids(keep: (row: Row) => boolean): unknown {
    const kept = items.filter(keep).map(({ id }) => id);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThan(items.length);
    return kept;
  }

  it('keeps items that have every word of a search somewhere, whatever its case', async () => {
    const [word = '', other = ''] = plain(items[0]?.['name'])?.toLowerCase().split(' ') ?? [];
    const expected = ids((row) => text(row).includes(word) && text(row).includes(other));
    expect(await found({ search: `  ${other.toUpperCase()}   ${word} ` })).toEqual(expected);
  });

  it('keeps items of a category or sub-category, whatever its case', async () => {
    const category = String(items[0]?.['category']);
    const sub = String(items[0]?.['sub_category']);
    const inCategory = ids((row) => row['category'] === category);
    const inSub = ids((row) => row['sub_category'] === sub);
    expect(await found({ category: category.toUpperCase() })).toEqual(inCategory);
    expect(await found({ category: ` ${sub} ` })).toEqual(inSub);
  });

  it('keeps items that have a tag, whole and whatever its case', async () => {
    const [{ tags } = {}] = items;
    const [tag = ''] = tags as string[];
    const tagged = ids((row) => (row['tags'] as string[]).includes(tag));
    expect(await found({ tag: tag.toUpperCase() })).toEqual(tagged);
    expect(await found({ tag: tag.slice(0, -1) })).toEqual([]);
  });

  it('joins all filters, and answers an empty list when nothing passes', async () => {
    const [row = {}] = items;
    const [tag = ''] = row['tags'] as string[];
    const category = String(row['category']);
    const expected = ids(
      (each) => each['category'] === category && (each['tags'] as string[]).includes(tag),
    );
    expect(await found({ category, tag })).toEqual(expected);
    expect(await found({ category, tag, search: 'no item says this' })).toEqual([]);
  });

  it('takes blank filters for none', async () => {
    expect(await found({ search: ' ', category: '', tag: ' ' })).toEqual(items.map(({ id }) => id));
  });

  it('pages over the filtered list in both directions as over any other', async () => {
    const category = String(items[0]?.['category']);
    const expected = items.filter((row) => row['category'] === category).map(({ id }) => id);
    const query = `query ($category: String, $first: Int, $after: String, $last: Int, $before: String) {
      items(category: $category, first: $first, after: $after, last: $last, before: $before) {
        totalCount nodes { databaseId } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;
    type Page = { items: Connection<{ databaseId: number }> };
    const forwards: number[] = [];
    let after: string | null = null;
    do {
      const { items: page }: Page = await world.data<Page>(query, { category, first: 3, after });
      expect(page.totalCount).toBe(expected.length);
      forwards.push(...page.nodes.map(({ databaseId }) => databaseId));
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
    } while (after !== null);
    expect(forwards).toEqual(expected);
    const backwards: number[] = [];
    let before: string | null = null;
    do {
      const { items: page }: Page = await world.data<Page>(query, { category, last: 3, before });
      backwards.unshift(...page.nodes.map(({ databaseId }) => databaseId));
      before = page.pageInfo.hasPreviousPage ? page.pageInfo.startCursor : null;
    } while (before !== null);
    expect(backwards).toEqual(expected);
  });

  it('is an empty list for a seller who has nothing to sell', async () => {
    const other = await startWorld({
      on: world.sandbox,
      env: { MARKET_API_KEY: world.sandbox.market.keys.empty },
    });
    expect(await other.data('{ items { totalCount nodes { id } } }')).toEqual({
      items: { totalCount: 0, nodes: [] },
    });
  });
});

describe('Query.purchase', () => {
  const query = `query ($code: String!) { purchase(code: $code) {
    code licenseType price currency supportedUntil downloaded date item { ${fields} } } }`;

  async function purchase(code: string): Promise<Row> {
    const { market } = world.sandbox;
    const response = await fetch(`${market.url}/api/purchases/validation`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ api_key: market.key, purchase_code: code }),
    });
    const { data } = (await response.json()) as { data: { purchase: Row } };
    const row = data.purchase;
    return {
      code: row['purchase_code'],
      licenseType: row['license_type'],
      price: row['price'],
      currency: row['currency'],
      supportedUntil: moment(row['supported_until']),
      downloaded: row['downloaded'],
      date: moment(row['date']),
      item: item(row['item'] as Row),
    };
  }

  it('answers every field of the purchase and the whole item that was bought', async () => {
    for (const code of world.sandbox.market.purchaseCodes.valid) {
      expect(await world.data(query, { code: ` ${code} ` })).toEqual({
        purchase: await purchase(code),
      });
    }
  });

  it('has no supportedUntil when it comes without support', async () => {
    const code = world.sandbox.market.purchaseCodes.valid.at(-1);
    const answer = await world.data<{ purchase: Row }>(query, { code });
    expect(answer.purchase['supportedUntil']).toBeNull();
  });

  it('bought an item that is found again by its id', async () => {
    const code = world.sandbox.market.purchaseCodes.valid[0];
    const answer = await world.data<{ purchase: { item: { id: string } & Row } }>(
      'query ($code: String!) { purchase(code: $code) { item { id databaseId name } } }',
      { code },
    );
    const { node } = await world.data(
      'query ($id: ID!) { node(id: $id) { id ... on Item { databaseId name } } }',
      { id: answer.purchase.item.id },
    );
    expect(node).toEqual(answer.purchase.item);
  });
});
