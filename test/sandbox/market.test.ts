import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Reply, reply } from './caller.ts';

let sandbox: Sandbox;
let market: Sandbox['market'];
beforeAll(async () => {
  sandbox = await startSandbox();
  market = sandbox.market;
});
afterAll(() => sandbox.close());

const get = async (path: string, query: Record<string, string> = {}, key = market.key) =>
  reply(await fetch(`${market.url}${path}?${new URLSearchParams({ api_key: key, ...query })}`));

function expectFailure({ status, body }: Reply, wanted: number, msg: string): void {
  expect(status).toBe(wanted);
  expect(body).toEqual({ status: 'error', msg });
}

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
const url = expect.stringMatching(/^http:\/\//);
const text = expect.any(String);
const number = expect.any(Number);

describe('GET /api/account/details', () => {
  it('gives the members of the document', async () => {
    const { status, body } = await get('/api/account/details');
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'success',
      data: {
        name: { firstname: 'Ines', lastname: 'Larkspur', full_name: 'Ines Larkspur' },
        username: text,
        email: text,
        balance: number,
        currency: 'EUR',
        profile: {
          heading: text,
          description: text,
          contact: { email: text },
          social_links: expect.any(Object),
          media: { avatar: url, cover: url },
        },
        registered_at: ISO,
      },
    });
  });

  it('fails without a key or with a wrong one', async () => {
    expectFailure(await get('/api/account/details', {}, 'wrong'), 401, 'Invalid request');
    const bare = await reply(await fetch(`${market.url}/api/account/details`));
    expectFailure(bare, 401, 'Invalid request');
  });
});

describe('GET /api/items/all', () => {
  it('gives items of all three kinds of media', async () => {
    const { body } = await get('/api/items/all');
    expect(body.status).toBe('success');
    const items = body.items;
    expect(items.length).toBeGreaterThanOrEqual(40);
    const kinds = { image: 0, video: 0, audio: 0 };
    for (const { media, ...item } of items) {
      expect(item).toEqual({
        id: number,
        name: text,
        description: text,
        category: text,
        sub_category: text,
        options: expect.any(Array),
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        demo_link: url,
        tags: expect.any(Array),
        price: { regular: number, extended: number },
        currency: 'EUR',
        published_at: ISO,
      });
      expect(media.thumbnail).toEqual(url);
      const { preview_video, preview_audio, preview_image } = media;
      const kind = preview_video ? 'video' : preview_audio ? 'audio' : 'image';
      kinds[kind] += 1;
      expect(preview_image === undefined).toBe(kind === 'audio');
      expect(preview_video === undefined || preview_audio === undefined).toBe(true);
    }
    expect(Math.min(...Object.values(kinds))).toBeGreaterThanOrEqual(5);
    expect(items.some(({ media }) => media.screenshots === undefined)).toBe(true);
    expect(items.some(({ media }) => (media.screenshots?.length ?? 0) > 1)).toBe(true);
  });

  it('fails for a seller who sells nothing', async () => {
    expectFailure(await get('/api/items/all', {}, market.keys.empty), 404, 'No items found');
  });
});

describe('GET /api/items/item', () => {
  it('gives the same item as the list', async () => {
    const items = (await get('/api/items/all')).body.items;
    for (const item of [items[0], items[25], items[40]]) {
      const { body } = await get('/api/items/item', { item_id: String(item?.id) });
      expect(body).toEqual({ status: 'success', item });
    }
  });

  it('fails for an item that is not there, not named or not theirs', async () => {
    expectFailure(await get('/api/items/item', { item_id: '1' }), 404, 'Item Not Found');
    expectFailure(await get('/api/items/item'), 404, 'Item Not Found');
    const foreign = await get('/api/items/item', { item_id: '204117' }, market.keys.empty);
    expectFailure(foreign, 404, 'Item Not Found');
  });
});

describe('POST /api/purchases/validation', () => {
  const validate = async (init: RequestInit, query = '') =>
    reply(
      await fetch(`${market.url}/api/purchases/validation${query}`, { method: 'POST', ...init }),
    );
  const asJson = (fields: Record<string, string>) =>
    validate({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(fields) });

  it('takes the parameters as JSON, form, multipart form or query', async () => {
    const api_key = market.key;
    const purchase_code = market.purchaseCodes.valid[0] ?? '';
    const fields = { api_key, purchase_code };
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    const search = new URLSearchParams(fields);
    const answers = [
      await asJson(fields),
      await validate({ body: search }),
      await validate({ body: form }),
      await validate({}, `?${search}`),
      await validate({ body: new URLSearchParams({ purchase_code }) }, `?api_key=${api_key}`),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body).toEqual(answers[0]?.body);
    }
    expect(sandbox.market.requests.slice(-5).map(({ credential }) => credential)).toEqual(
      Array.from({ length: 5 }, () => api_key),
    );
  });

  it('gives the purchase with its whole item; one is without support', async () => {
    const supported: boolean[] = [];
    for (const purchase_code of market.purchaseCodes.valid) {
      const { body } = await asJson({ api_key: market.key, purchase_code });
      const { supported_until, ...purchase } = body.data.purchase;
      supported.push(supported_until !== undefined);
      if (supported_until !== undefined) expect(supported_until).toEqual(ISO);
      const id = String(purchase.item?.id);
      const { item } = (await get('/api/items/item', { item_id: id })).body;
      expect(purchase).toEqual({
        purchase_code,
        license_type: expect.stringMatching(/^(regular|extended)$/),
        price: number,
        currency: 'EUR',
        item,
        downloaded: expect.any(Boolean),
        date: ISO,
      });
    }
    expect(supported.filter((yes) => !yes)).toHaveLength(1);
  });

  it('fails for invalid and foreign codes', async () => {
    for (const purchase_code of market.purchaseCodes.invalid) {
      const failure = await asJson({ api_key: market.key, purchase_code });
      expectFailure(failure, 404, 'Invalid purchase code');
    }
    expectFailure(await asJson({ api_key: market.key }), 404, 'Invalid purchase code');
    const purchase_code = market.purchaseCodes.valid[0] ?? '';
    const foreign = await asJson({ api_key: market.keys.empty, purchase_code });
    expectFailure(foreign, 404, 'Invalid purchase code');
    expectFailure(await asJson({ purchase_code }), 401, 'Invalid request');
  });
});

describe('paths', () => {
  it('answers 404 and 405 in the failure form', async () => {
    const failure = { status: 'error', msg: expect.any(String) };
    expect(await get('/api/nothing')).toMatchObject({ status: 404, body: failure });
    expect(await get('/api/purchases/validation')).toMatchObject({ status: 405, body: failure });
  });
});
