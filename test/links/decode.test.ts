import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { account } from '../../src/links/account/account.ts';
import { plans } from '../../src/links/account/plan.ts';
import { user, userApiKey, users } from '../../src/links/account/user.ts';
import { domains } from '../../src/links/brand/branded-domain.ts';
import { overlays } from '../../src/links/brand/cta-overlay.ts';
import { pixels, pixelTypes } from '../../src/links/brand/pixel.ts';
import { splashPages } from '../../src/links/brand/splash-page.ts';
import { campaigns } from '../../src/links/content/campaign.ts';
import { channelItems, channels } from '../../src/links/content/channel.ts';
import { files } from '../../src/links/content/file.ts';
import { qrCode, qrCodes } from '../../src/links/content/qr-code.ts';
import { DecodeError } from '../../src/upstream/decode/fields.ts';
import type { DecodeContext, List, Row } from '../../src/upstream/request.ts';

function decode<T>(
  thing: { readonly decode: (body: unknown, context: DecodeContext) => T },
  body: unknown,
): { value: T; surprises: string[] } {
  const surprises: string[] = [];
  const context = { timeZone: 'UTC', surprise: (field: string) => surprises.push(field) };
  return { value: thing.decode(body, context), surprises };
}

/** Decodes a page of one row that sits where the documents put it, and expects no surprise. */
function onlyRow<R extends Row>(list: List<R>, key: string, row: unknown): R | undefined {
  const { value, surprises } = decode(list, { error: 0, data: { error: '0', [key]: [row] } });
  expect(surprises).toEqual([]);
  return value.rows[0];
}

const date = '2026-01-31 09:30:00';
const moment = '2026-01-31T09:30:00Z';

describe('account', () => {
  const members = {
    id: '7',
    email: 'a@b.example',
    username: 'Tom &amp; Co',
    avatar: 'https://a.example/a.png',
    status: 'pro',
    expires: date,
    registered: date,
  };

  test('reads every documented member', () => {
    expect(decode(account, { error: 0, data: members })).toEqual({
      value: {
        id: 7,
        email: 'a@b.example',
        username: 'Tom & Co',
        avatar: 'https://a.example/a.png',
        status: 'PRO',
        expires: moment,
        registered: moment,
      },
      surprises: [],
    });
  });

  test('has no end of plan for null and for the zero date', () => {
    for (const expires of [null, undefined, '0000-00-00 00:00:00']) {
      const { value, surprises } = decode(account, { data: { ...members, expires } });
      expect([value.expires, surprises]).toEqual([null, []]);
    }
  });

  test('reads an unknown status as null, and says so', () => {
    const { value, surprises } = decode(account, { data: { ...members, status: 'gold' } });
    expect([value.status, surprises]).toEqual([null, ['account.status']]);
  });

  test.each([[{}], [{ data: null }], [{ data: [] }], [{ data: { email: 'x' } }]])(
    'refuses %j, which holds no account',
    (body) => {
      expect(() => decode(account, body)).toThrow(DecodeError);
    },
  );
});

describe('lists', () => {
  test('reads branded domains', () => {
    const row = { id: 1, domain: 'https://d.example', redirectroot: '', redirect404: null };
    expect(onlyRow(domains, 'domains', row)).toEqual({
      id: 1,
      domain: 'https://d.example',
      redirectRoot: '',
      redirect404: null,
    });
  });

  test.each(['cta', 'overlay'])('reads CTA overlays under %s', (key) => {
    expect(onlyRow(overlays, key, { id: 1, type: 'message', name: 'x', date })).toEqual({
      id: 1,
      type: 'message',
      name: 'x',
      date: moment,
    });
  });

  test('reads splash pages', () => {
    expect(onlyRow(splashPages, 'splash', { id: 1, name: 'x', date, extra: {} })).toEqual({
      id: 1,
      name: 'x',
      date: moment,
    });
  });

  test.each(['name', 'campaign', 'domain'])('reads the name of a campaign under %s', (key) => {
    const row = { id: 1, [key]: 'Spring', public: '1', rotator: false, list: 'https://l.example' };
    expect(onlyRow(campaigns, 'campaigns', row)).toEqual({
      id: 1,
      name: 'Spring',
      public: true,
      rotatorUrl: null,
      listUrl: 'https://l.example',
    });
  });

  test('reads a campaign list of false as none', () => {
    expect(onlyRow(campaigns, 'campaigns', { id: 1, list: false })?.listUrl).toBeNull();
  });

  test('reads channels', () => {
    const row = { id: 1, name: 'x', description: null, color: '#FF0000', starred: '0' };
    expect(onlyRow(channels, 'channels', row)).toEqual({ ...row, starred: false });
  });

  test('reads files with everything at the top level', () => {
    const row = { id: 1, name: 'x', downloads: '12', shorturl: 'https://s.example/a', date };
    const { value, surprises } = decode(files(), {
      error: 0,
      result: 1,
      perpage: 15,
      currentpage: 1,
      nextpage: null,
      maxpage: 1,
      list: [row],
    });
    expect(surprises).toEqual([]);
    expect(value).toMatchObject({ total: 1, maxPage: 1, perPage: 15 });
    expect(value.rows).toEqual([
      { id: 1, name: 'x', downloads: 12, shortUrl: 'https://s.example/a', date: moment },
    ]);
  });

  test('searches files by name only when there is something to search', () => {
    expect(files('logo').query).toEqual({ name: 'logo' });
    expect(files(' ').query).toBeUndefined();
    expect(files(null).query).toBeUndefined();
  });
});

describe('channel items', () => {
  test('keeps the id within its type, and the day', () => {
    const row = { type: 'qr', id: 7, title: 'x', preview: 'p', link: 'l', date: '2026-01-31' };
    expect(onlyRow(channelItems(3), 'items', row)).toEqual({ ...row, type: 'QR' });
  });

  test('keeps items of one id and different types', () => {
    const items = ['links', 'bio', 'qr'].map((type) => ({ type, id: 7 }));
    const { value } = decode(channelItems(3), { data: { items } });
    expect(value.rows.map((row) => row.type)).toEqual(['LINKS', 'BIO', 'QR']);
  });

  test('skips an item of an unknown type, and says so', () => {
    const { value, surprises } = decode(channelItems(3), {
      data: {
        items: [
          { type: 'video', id: 1 },
          { type: 'bio', id: 2 },
        ],
      },
    });
    expect(value.rows.map((row) => row.id)).toEqual([2]);
    expect(surprises).toContain('channelItems.type');
  });

  test('is read per channel and dropped with it', () => {
    expect(channelItems(3)).toMatchObject({
      path: '/api/channel/3',
      tags: ['channelItems', 'channel:3:items'],
      absentIsNull: true,
    });
  });
});

describe('pixels', () => {
  test.each(Object.entries(pixelTypes))('reads the type %s from %s', (type, typeName) => {
    const row = { id: 1, type: typeName, name: 'x', tag: 'GTM-1', date };
    expect(onlyRow(pixels, 'pixels', row)).toEqual({
      id: 1,
      type,
      typeName,
      name: 'x',
      tag: 'GTM-1',
      date: moment,
    });
  });

  test('knows thirteen types', () => {
    expect(Object.keys(pixelTypes)).toHaveLength(13);
  });

  test('keeps the name of a type it does not know', () => {
    const { value, surprises } = decode(pixels, {
      data: { pixels: [{ id: 1, type: 'newpixel' }] },
    });
    expect(value.rows[0]).toMatchObject({ type: null, typeName: 'newpixel' });
    expect(surprises).toEqual(['pixels.type']);
  });
});

describe('QR codes', () => {
  const details = { id: 1, link: 'https://q.example', scans: '5', name: 'x', date };
  const plain = { id: 1, link: 'https://q.example', scans: 5, name: 'x', date: moment };

  test.each(['date', 'data'])('reads the date under %s', (key) => {
    const { date: _, ...rest } = details;
    expect(onlyRow(qrCodes, 'qrs', { ...rest, [key]: date })).toEqual(plain);
  });

  test('reads the statistics beside the details, largest counts first', () => {
    const { value, surprises } = decode(qrCode(1), {
      error: 0,
      details,
      data: {
        clicks: '9',
        uniqueClicks: 4,
        topCountries: { 'Cote d&#039;Ivoire': '2', Peru: '7' },
        topReferrers: 0,
        topBrowsers: [],
        topOs: null,
        socialCount: { facebook: 0, twitter: 3, instagram: 3 },
      },
    });
    expect(surprises).toEqual([]);
    expect(value).toEqual({
      ...plain,
      statistics: {
        clicks: 9,
        uniqueClicks: 4,
        topCountries: [
          { label: 'Peru', count: 7 },
          { label: "Cote d'Ivoire", count: 2 },
        ],
        topReferrers: [],
        topBrowsers: [],
        topOperatingSystems: [],
        socialCounts: [
          { label: 'twitter', count: 3 },
          { label: 'instagram', count: 3 },
          { label: 'facebook', count: 0 },
        ],
      },
    });
  });

  test.each([[undefined], [null], [[]], [{}]])('has no statistics for %j', (data) => {
    expect(decode(qrCode(1), { details, data })).toEqual({
      value: { ...plain, statistics: null },
      surprises: [],
    });
  });

  test('reads an unreadable count as null, and does not repeat its label', () => {
    const data = { topOs: { secret: 'x', Linux: '1' } };
    const { value, surprises } = decode(qrCode(1), { details, data });
    expect(value?.statistics?.topOperatingSystems).toEqual([
      { label: 'Linux', count: 1 },
      { label: 'secret', count: null },
    ]);
    expect(surprises).toEqual(['qrCode.data.topOs']);
  });

  test.each([[null], [[]], [{}], [false]])('is absent when the details are %j', (empty) => {
    expect(decode(qrCode(1), { error: 0, details: empty }).value).toBeNull();
  });

  test('is read by itself where a list page is not cached', () => {
    expect(qrCodes.single?.(7).path).toBe('/api/qr/7');
    expect(qrCode(7)).toMatchObject({ absentIsNull: true, tags: ['qrStatistics', 'qrCode:7'] });
  });
});

describe('plans', () => {
  const read = (plan: unknown) => decode(plans, { error: 0, data: [plan] });

  test('reads prices, limits and the features in the order of the documents', () => {
    const { value, surprises } = read({
      id: '1',
      name: 'Pro',
      free: '0',
      prices: { monthly: '9.99', yearly: 99, lifetime: null },
      limits: {
        api: { enabled: '1' },
        extra: { enabled: '1', count: 2 },
        team: { enabled: '0', count: '5' },
        links: '100',
        clicks: 0,
        retention: 15,
      },
    });
    expect(surprises).toEqual([]);
    expect(value.rows[0]).toEqual({
      id: 1,
      name: 'Pro',
      free: false,
      prices: { monthly: 9.99, yearly: 99, lifetime: null },
      limits: {
        links: 100,
        clicks: 0,
        retention: 15,
        features: [
          { name: 'team', enabled: false, count: 5 },
          { name: 'api', enabled: true, count: null },
          { name: 'extra', enabled: true, count: 2 },
        ],
      },
    });
  });

  test.each([[null], [undefined], [[]], [{}]])('has no prices for %j', (prices) => {
    expect(read({ id: 1, prices }).value.rows[0]?.prices).toBeNull();
  });

  test('reads a feature that is a bare flag, and a broken one as not enabled', () => {
    const { value, surprises } = read({ id: 1, limits: { geo: '1', alias: 'x', export: [] } });
    expect(value.rows[0]?.limits?.features).toEqual([
      { name: 'alias', enabled: false, count: null },
      { name: 'geo', enabled: true, count: null },
      { name: 'export', enabled: false, count: null },
    ]);
    expect(surprises).toEqual(['plans.limits.alias']);
  });
});

describe('users', () => {
  const row = { id: 1, email: 'a@b.example', status: 'admin', planid: '3', apikey: 'top-secret' };

  test('never holds the API key', () => {
    const list = decode(users(), { error: 0, data: [row] });
    const single = decode(user(1), { error: 0, data: row });
    expect(JSON.stringify([list, single])).not.toContain('top-secret');
    expect(list.value.rows[0]).toMatchObject({ id: 1, planId: 3, status: 'ADMIN' });
    expect(single.value).toEqual(list.value.rows[0]);
  });

  test('reads the API key by a call of its own that nothing may keep', () => {
    expect(decode(userApiKey(1), { error: 0, data: row }).value).toBe('top-secret');
    expect(decode(userApiKey(1), { error: 0, data: { id: 1 } }).value).toBeNull();
    expect(userApiKey(1)).not.toHaveProperty('resource');
  });

  test('passes filter and email on as the upstream spells them', () => {
    expect(users().query).toBeUndefined();
    expect(users('PRO', ' a@b.example ').query).toEqual({ filter: 'pro', email: 'a@b.example' });
    expect(users(null, '').query).toBeUndefined();
  });

  test('is absent when the data is empty, and found in a list of one', () => {
    expect(decode(user(1), { error: 0, data: [] }).value).toBeNull();
    expect(decode(user(1), { error: 0, data: null }).value).toBeNull();
    expect(decode(user(1), { error: 0, data: [row] }).value?.id).toBe(1);
  });
});

test('no decoder throws anything but a DecodeError, and all make plain JSON, for any JSON', () => {
  const value = fc.oneof(fc.jsonValue(), fc.array(fc.record({ id: fc.integer() })));
  const keys = ['data', 'details', 'qrs', 'items', 'pixels', 'limits', 'topOs', 'id', 'list'];
  const map = fc.dictionary(fc.constantFrom(...keys), value);
  const body = fc.oneof(value, map, fc.record({ id: fc.integer(), data: map, details: map }));
  const lists = [account, domains, overlays, campaigns, channels, channelItems(1), splashPages];
  const rest = [files(), pixels, qrCodes, qrCode(1), plans, users(), user(1), userApiKey(1)];
  fc.assert(
    fc.property(body, (json) => {
      const values: unknown[] = [];
      for (const thing of [...lists, ...rest]) {
        try {
          values.push(decode<unknown>(thing, json).value);
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError);
        }
      }
      // So that they can be kept elsewhere, strictly as they are.
      expect(JSON.parse(JSON.stringify(values))).toStrictEqual(values);
    }),
    { examples: [[{ id: 0, details: { id: -0 } }], [{ details: { id: '-0' } }]] },
  );
});
