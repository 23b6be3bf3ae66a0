import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Row, startWorld, type World } from '../support/gateway.ts';

let world: World;
let valid: readonly string[];
let invalid: readonly string[];
beforeAll(async () => {
  world = await startWorld();
  ({ valid, invalid } = world.sandbox.market.purchaseCodes);
});
beforeEach(() => world.forgetCalls());

const byCodes = 'query ($codes: [String!]!) { purchases(codes: $codes) { id code price } }';
const byCode = 'query ($code: String!) { purchase(code: $code) { id code price } }';

/** The calls to the marketplace: which, and how many. */
const validations = () => world.calls().map((call) => call.split('?')[0]);

describe('Query.purchases', () => {
  it('answers in the order of the codes, null for an invalid one, and each code once', async () => {
    const [a, b] = valid as [string, string];
    const codes = [b, invalid[0], a, ` ${b} `, b, invalid[0]];
    const { purchases } = await world.data<{ purchases: (Row | null)[] }>(byCodes, { codes });
    expect(purchases.map((row) => row?.['code'] ?? null)).toEqual([b, null, a, b, b, null]);
    expect(validations()).toEqual(Array(3).fill('POST /api/purchases/validation'));
    const { purchase } = await world.data<{ purchase: Row }>(byCode, { code: a });
    expect(purchase).toEqual(purchases[2]);
    expect(validations()).toHaveLength(3);
  });

  it('is null with an error at the index of a code that cannot be looked up', async () => {
    const [a] = valid;
    const codes = ['', a, 'x'.repeat(201), ' '];
    const { data, errors } = await world.ask<{ purchases: (Row | null)[] }>(byCodes, { codes });
    expect(data.purchases.map((row) => row?.['code'] ?? null)).toEqual([null, a, null, null]);
    expect(errors).toMatchObject(
      [0, 2, 3].map((n) => ({ path: ['purchases', n], extensions: { code: 'BAD_USER_INPUT' } })),
    );
    expect(await world.data(byCodes, { codes: [] })).toEqual({ purchases: [] });
  });

  it('refuses 501 codes, and more than 5000 in an operation, before anything is sent', async () => {
    const codes = Array.from({ length: 501 }, (_, n) => `code-${n}`);
    const many = await world.ask(byCodes, { codes });
    expect([many.status, many.errors[0]?.extensions?.code]).toEqual([400, 'BAD_USER_INPUT']);
    const fields = Array.from({ length: 11 }, (_, n) => `a${n}: purchases(codes: $codes) { id }`);
    const query = `query ($codes: [String!]!) { ${fields.join(' ')} }`;
    const all = await world.ask(query, { codes: codes.slice(1) });
    expect([all.status, all.errors[0]?.extensions?.code]).toEqual([400, 'OPERATION_TOO_EXPENSIVE']);
    expect(all.errors[0]?.message).toMatch(/5500.*5000/);
    expect(world.calls()).toEqual([]);
  });

  it('sends none of the codes that do not fit into an operation', async () => {
    const small = await startWorld({
      on: world.sandbox,
      env: { MARKET_RATE_LIMIT: '3', OPERATION_MAX_CALLS: '3' },
    });
    const codes = ['a-1', 'a-2', 'a-3', 'a-4'];
    const { data, errors } = await small.ask(byCodes, { codes });
    expect(data).toEqual({ purchases: [null, null, null, null] });
    expect(errors).toHaveLength(4);
    expect(errors[0]?.extensions).toMatchObject({
      code: 'OPERATION_TOO_EXPENSIVE',
      needed: 4,
      left: 3,
    });
    expect(world.calls()).toEqual([]);
  });

  it('leaves other fields alone where the marketplace is not configured', async () => {
    const links = await startWorld({ on: world.sandbox, only: 'links' });
    const query =
      'query ($codes: [String!]!) { account { username } purchases(codes: $codes) { id } }';
    const { data, errors } = await links.ask(query, { codes: valid.slice(0, 2) });
    expect(data).toMatchObject({ account: {}, purchases: [null, null] });
    expect(errors.map(({ extensions }) => extensions?.code)).toEqual([
      'UPSTREAM_NOT_CONFIGURED',
      'UPSTREAM_NOT_CONFIGURED',
    ]);
  });
});

describe('The id of a purchase', () => {
  const nodes =
    'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Purchase { code price } } }';

  async function idOf(code: string | undefined, of: World = world): Promise<string> {
    const { purchase } = await of.data<{ purchase: { id: string } }>(byCode, { code });
    return purchase.id;
  }

  it('finds the purchase again, for nothing while it is cached', async () => {
    const ids = [await idOf(valid[0]), await idOf(valid[1])];
    world.forgetCalls();
    const answer = await world.data<{ nodes: Row[] }>(nodes, { ids });
    expect(answer.nodes).toMatchObject(
      ids.map((id, n) => ({ __typename: 'Purchase', id, code: valid[n] })),
    );
    expect(world.calls()).toEqual([]);
  });

  it('does not contain the code, however it is decoded, and is the same in every process', async () => {
    const code = valid[0] as string;
    const id = await idOf(code);
    const inner = Buffer.from(id, 'base64url').toString();
    const opened = Buffer.from(inner.replace(/^Purchase:~/, ''), 'base64url');
    expect(inner).toMatch(/^Purchase:~[\w-]+$/);
    for (const text of [id, inner, opened.toString(), opened.toString('latin1')]) {
      expect(text).not.toContain(code);
      expect(text).not.toContain(code.slice(0, 8));
    }
    const other = await startWorld({ on: world.sandbox });
    expect(await idOf(code, other)).toBe(id);
  });

  it('is refused if it was not made here, before anything is sent', async () => {
    const seal = Buffer.from(await idOf(valid[0]), 'base64url')
      .toString()
      .split('~')[1];
    const sealed = (text: string) => Buffer.from(text).toString('base64url');
    const flipped = Buffer.from(seal ?? '', 'base64url');
    flipped[20] = (flipped[20] ?? 0) ^ 1;
    const ids = [
      sealed(`Purchase:~${flipped.toString('base64url')}`),
      sealed('Purchase:~AAAA'),
      sealed('Purchase:7'),
      sealed(`Channel:~${seal}`),
      sealed(`Seller:~${seal}`),
    ];
    world.forgetCalls();
    const { data, errors } = await world.ask(nodes, { ids });
    expect(data).toEqual({ nodes: ids.map(() => null) });
    expect(errors).toMatchObject(
      ids.map((_, n) => ({ path: ['nodes', n], extensions: { code: 'BAD_USER_INPUT' } })),
    );
    expect(world.calls()).toEqual([]);
  });

  it('is no id for another lookup', async () => {
    const id = await idOf(valid[0]);
    const { errors } = await world.ask('query ($id: ID!) { item(id: $id) { id } }', { id });
    expect(errors[0]).toMatchObject({
      message: expect.stringContaining('is the ID of a Purchase'),
      extensions: { code: 'BAD_USER_INPUT' },
    });
  });

  it('stands for the code as it was requested, however the upstream spells it', async () => {
    const restore = world.sandbox.market.fault({
      kind: 'answer',
      path: '/api/purchases/validation',
      rewrite: (answer) => {
        const { data } = answer.body as { data: { purchase: Record<string, unknown> } };
        data.purchase['purchase_code'] = '****';
        return answer;
      },
    });
    const other = await startWorld({ on: world.sandbox });
    const ids = [await idOf(valid[0], other), await idOf(valid[1], other)];
    expect(new Set(ids).size).toBe(2);
    world.forgetCalls();
    await other.data(nodes, { ids });
    expect(world.calls()).toEqual([]);
    restore();
  });

  it('of a long code is one that `node` takes', async () => {
    const code = '€'.repeat(200);
    const restore = world.sandbox.market.fault({
      kind: 'answer',
      path: '/api/purchases/validation',
      rewrite: (answer) => ({
        ...answer,
        status: 200,
        body: { status: 'success', data: { purchase: { purchase_code: code, price: 5 } } },
      }),
    });
    const id = await idOf(code);
    expect(await world.data(nodes, { ids: [id] })).toMatchObject({ nodes: [{ id, code }] });
    restore();
  });
});

describe('The seller', () => {
  it('is found by its id, and is null for another', async () => {
    const { seller } = await world.data<{ seller: { id: string } }>('{ seller { id username } }');
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Seller { username } } }';
    const other = Buffer.from('Seller:7').toString('base64url');
    world.forgetCalls();
    expect(await world.data(query, { ids: [seller.id, other] })).toEqual({ nodes: [seller, null] });
    expect(world.calls()).toEqual([]);
  });
});
