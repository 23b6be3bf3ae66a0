import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { item, items } from '../../src/market/item.ts';
import { purchase } from '../../src/market/purchase.ts';
import { seller } from '../../src/market/seller.ts';
import { DecodeError } from '../../src/upstream/decode/fields.ts';
import type { DecodeContext } from '../../src/upstream/request.ts';

function decode<T>(
  thing: { readonly decode: (body: unknown, context: DecodeContext) => T },
  body: unknown,
): { value: T; surprises: string[] } {
  const surprises: string[] = [];
  const context = { timeZone: 'UTC', surprise: (field: string) => surprises.push(field) };
  return { value: thing.decode(body, context), surprises };
}

describe('seller', () => {
  const data = {
    name: { firstname: 'Ada', lastname: 'L', full_name: 'Ada L' },
    username: 'ada',
    email: 'a@b.example',
    balance: '12.50',
    currency: 'USD',
    profile: {
      heading: 'Hi &amp; hello',
      description: '',
      contact: { email: 'c@b.example' },
      social_links: { github: 'ada', twitter: null, reddit: '' },
      media: { avatar: 'https://a.example', cover: null },
    },
    registered_at: '2026-01-31T09:30:00.000000Z',
  };

  test('reads every documented member', () => {
    expect(decode(seller, { status: 'success', data })).toEqual({
      value: {
        firstName: 'Ada',
        lastName: 'L',
        fullName: 'Ada L',
        username: 'ada',
        email: 'a@b.example',
        balance: 12.5,
        currency: 'USD',
        profile: {
          heading: 'Hi & hello',
          description: '',
          contactEmail: 'c@b.example',
          socialLinks: [{ network: 'github', path: 'ada' }],
          avatar: 'https://a.example',
          cover: null,
        },
        registeredAt: '2026-01-31T09:30:00Z',
      },
      surprises: [],
    });
  });

  test.each([
    [null, []],
    [undefined, []],
    [[], []],
    [{}, []],
    [[{ network: 'github', path: 'ada' }], [{ network: 'github', path: 'ada' }]],
    [[{ name: 'github', url: 'ada' }, { name: 'x' }], [{ network: 'github', path: 'ada' }]],
  ])('reads the social links %j', (social_links, expected) => {
    const { value, surprises } = decode(seller, {
      data: { ...data, profile: { social_links, heading: 'x' } },
    });
    expect(value.profile?.socialLinks).toEqual(expected);
    expect(surprises).toEqual([]);
  });

  test('refuses an answer without an account', () => {
    expect(() => decode(seller, { data: [] })).toThrow(DecodeError);
    expect(() => decode(seller, { items: [] })).toThrow(DecodeError);
  });
});

describe('items', () => {
  const row = {
    id: '7',
    name: 'Kit',
    description: 'A &lt;kit&gt;',
    category: 'Code',
    sub_category: 'PHP',
    options: ['a', 'b'],
    version: '1.0.0',
    demo_link: 'https://d.example',
    tags: ['x', 'y'],
    media: { thumbnail: 'https://t.example', preview_image: 'https://i.example' },
    price: { regular: '19.00', extended: 99 },
    currency: 'USD',
    published_at: '2026-01-31T09:30:00Z',
  };
  const read = (members: object) => {
    const { value, surprises } = decode(items, { status: 'ok', items: [{ ...row, ...members }] });
    expect(surprises).toEqual([]);
    return value.rows[0];
  };

  test('reads every documented member', () => {
    expect(read({})).toEqual({
      id: 7,
      name: 'Kit',
      description: 'A <kit>',
      category: 'Code',
      subCategory: 'PHP',
      options: ['a', 'b'],
      version: '1.0.0',
      demoLink: 'https://d.example',
      tags: ['x', 'y'],
      media: {
        kind: 'IMAGE',
        thumbnail: 'https://t.example',
        previewImage: 'https://i.example',
        previewVideo: null,
        previewAudio: null,
        screenshots: [],
      },
      price: { regular: 19, extended: 99 },
      currency: 'USD',
      publishedAt: '2026-01-31T09:30:00Z',
    });
  });

  test.each([
    [{ preview_audio: 'a', preview_video: 'v' }, 'AUDIO'],
    [{ preview_image: 'i', preview_video: 'v' }, 'VIDEO'],
    [{ preview_image: 'i', preview_video: null, preview_audio: '' }, 'IMAGE'],
    [{ thumbnail: 't' }, 'IMAGE'],
  ])('reads the media %j as %s', (media, kind) => {
    expect(read({ media })?.media?.kind).toBe(kind);
  });

  test.each([[null], [[]], [{}]])('reads the media %j as none', (media) => {
    expect(read({ media })?.media).toBeNull();
  });

  test.each([
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [{ 1: 'a', 4: 'b' }, ['a', 'b']],
    [{ look: ['a', 'b'], size: 'c' }, ['a', 'b', 'c']],
    [{ look: { 0: 'a', 2: ['b'] }, size: [] }, ['a', 'b']],
    [
      [['a'], ['b']],
      ['a', 'b'],
    ],
    [null, []],
    [[], []],
  ])('reads options and screenshots from %j', (list, expected) => {
    const read2 = read({ options: list, media: { thumbnail: 't', screenshots: list } });
    expect(read2?.options).toEqual(expected);
    expect(read2?.media?.screenshots).toEqual(expected);
  });

  test.each([
    [
      ['a', 'b c'],
      ['a', 'b c'],
    ],
    ['a, b c,', ['a', 'b c']],
    [{ main: ['a', 'b c'] }, ['a', 'b c']],
    ['', []],
    [null, []],
  ])('reads tags from %j', (tags, expected) => {
    expect(read({ tags })?.tags).toEqual(expected);
  });

  test('reads a version that is a number', () => {
    expect(read({ version: 2.1 })?.version).toBe('2.1');
  });

  test('reads the list of a seller with nothing to sell', () => {
    expect(decode(items, { items: [] }).value.rows).toEqual([]);
    expect(decode(items, { status: 'success', items: null }).value.rows).toEqual([]);
  });

  test('reads one item, and none where there is none', () => {
    expect(item(7)).toMatchObject({ path: '/api/items/item', query: { item_id: '7' } });
    expect(decode(item(7), { item: row }).value?.id).toBe(7);
    for (const body of [{ item: null }, { item: [] }, { items: [] }]) {
      expect(decode(item(7), body).value).toBeNull();
    }
    expect(() => decode(item(7), { data: {} })).toThrow(DecodeError);
  });
});

describe('purchase', () => {
  const members = {
    purchase_code: 'code-1',
    license_type: 'Regular',
    price: '19.00',
    currency: 'USD',
    item: { id: 7, name: 'Kit' },
    supported_until: '2026-07-31T09:30:00Z',
    downloaded: '1',
    date: '2026-01-31T09:30:00.123Z',
  };

  test.each([
    ['data.purchase', { data: { purchase: members } }],
    ['purchase', { purchase: members }],
    ['data itself', { data: members }],
    ['a top-level item that has a code', { item: members }],
  ])('finds the purchase under %s', (_, body) => {
    const { value, surprises } = decode(purchase('asked'), { status: 'success', ...body });
    expect(surprises).toEqual([]);
    expect(value).toMatchObject({
      code: 'code-1',
      licenseType: 'Regular',
      price: 19,
      currency: 'USD',
      item: { id: 7, name: 'Kit' },
      supportedUntil: '2026-07-31T09:30:00Z',
      downloaded: true,
      date: '2026-01-31T09:30:00Z',
    });
  });

  test('takes the item itself where the code stands inside it', () => {
    const body = { item: { id: 7, name: 'Kit', purchase_code: 'code-1' } };
    expect(decode(purchase('asked'), body).value).toMatchObject({
      code: 'code-1',
      item: { id: 7 },
    });
  });

  test('has no support when the member is absent, and the code asked for when it is not repeated', () => {
    const { value } = decode(purchase('asked'), { purchase: { license_type: 'Regular' } });
    expect(value).toMatchObject({ code: 'asked', supportedUntil: null, item: null });
  });

  test('outlives an item that cannot be read, and says so', () => {
    const { value, surprises } = decode(purchase('c'), {
      purchase: { ...members, item: { id: null } },
    });
    expect(value).toMatchObject({ code: 'code-1', item: null });
    expect(surprises).toEqual(['purchase.item']);
  });

  test('is absent when the payload is empty', () => {
    expect(decode(purchase('c'), { data: { purchase: null } }).value).toBeNull();
    expect(decode(purchase('c'), { purchase: [] }).value).toBeNull();
  });

  test('refuses an item that has no code', () => {
    expect(() => decode(purchase('c'), { item: { id: 7 } })).toThrow(DecodeError);
  });

  test('is a read although it is a POST', () => {
    expect(purchase('c')).toMatchObject({
      method: 'POST',
      body: { purchase_code: 'c' },
      absentIsNull: true,
    });
  });
});

test('no decoder throws anything but a DecodeError, and all make plain JSON, for any JSON', () => {
  const keys = ['data', 'items', 'item', 'purchase', 'media', 'profile', 'purchase_code', 'id'];
  const map = fc.dictionary(fc.constantFrom(...keys), fc.jsonValue());
  const body = fc.oneof(fc.jsonValue(), map, fc.record({ data: map, item: map, purchase: map }));
  fc.assert(
    fc.property(body, (json) => {
      const values: unknown[] = [];
      for (const thing of [seller, items, item(1), purchase('c')]) {
        try {
          values.push(decode<unknown>(thing, json).value);
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError);
        }
      }
      // So that they can be kept elsewhere, strictly as they are.
      expect(JSON.parse(JSON.stringify(values))).toStrictEqual(values);
    }),
  );
});
