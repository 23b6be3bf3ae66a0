import { beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/gateway.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});

const globalId = (text: string): string => Buffer.from(text).toString('base64url');

describe.each([
  ['campaign', 'Campaign', 'name'],
  ['channel', 'Channel', 'name'],
  ['channel', 'Channel', 'id'],
  ['channel', 'Channel', 'items { totalCount }'],
  ['qrCode', 'QrCode', 'name'],
  ['qrCode', 'QrCode', 'statistics { clicks }'],
  ['user', 'User', 'email'],
  ['item', 'Item', 'name'],
])('Query.%s', (field, typename, selection) => {
  it.each(['999999', '99999999999', globalId(`${typename}:999999`)])(
    `is null without an error for { ${selection} } of the id %s, which nothing has`,
    async (id) => {
      const query = `query ($id: ID!) { ${field}(id: $id) { ${selection} } }`;
      expect(await world.data(query, { id })).toEqual({ [field]: null });
    },
  );
});

const nodes = [
  'Account',
  'BrandedDomain',
  'CtaOverlay',
  'Campaign',
  'Channel',
  'SplashPage',
  'File',
  'Pixel',
  'QrCode',
  'Plan',
  'User',
  'Item',
];

describe('Query.nodes', () => {
  it('has null in the place of each that does not exist, and keeps the order', async () => {
    const { qrCodes } = await world.data<{ qrCodes: { nodes: { id: string }[] } }>(
      '{ qrCodes(first: 2) { nodes { id } } }',
    );
    const [first, second] = qrCodes.nodes;
    const ids = [
      second?.id,
      ...nodes.map((name) => globalId(`${name}:999999`)),
      first?.id,
      second?.id,
    ];
    const answer = await world.data('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids });
    expect(answer).toEqual({ nodes: [second, ...nodes.map(() => null), first, second] });
  });
});

describe('Query.purchase', () => {
  it('is null without an error for every code that is not valid, and costs nothing again', async () => {
    for (let calls = 1; calls >= 0; calls -= 1) {
      for (const code of world.sandbox.market.purchaseCodes.invalid) {
        world.forgetCalls();
        const query = 'query ($code: String!) { purchase(code: $code) { code } }';
        expect(await world.data(query, { code })).toEqual({ purchase: null });
        expect(world.calls()).toHaveLength(calls);
      }
    }
  });
});

describe('QrItem.qrCode', () => {
  it('is null without an error when the QR code is gone', async () => {
    const other = await startWorld({ on: world.sandbox });
    const restore = world.sandbox.links.fault({
      kind: 'answer',
      path: /^\/api\/channel\/\d+$/,
      rewrite: (answer) => {
        const { data } = answer.body as { data: { items: { type: string; id: number }[] } };
        for (const item of data.items) if (item.type === 'qr') item.id = 999_999;
        return answer;
      },
    });
    const { channels } = await other.data<{
      channels: { nodes: { items: { nodes: { title?: string; qrCode?: null }[] } }[] };
    }>(
      '{ channels(first: 3) { nodes { items { nodes { ... on QrItem { title qrCode { name } } } } } } }',
    );
    restore();
    const gone = channels.nodes.flatMap(({ items }) => items.nodes).filter(({ title }) => title);
    expect(gone.length).toBeGreaterThan(0);
    for (const { qrCode } of gone) expect(qrCode).toBeNull();
  });
});

describe('User.plan', () => {
  it('is null without an error when the plan is gone', async () => {
    const other = await startWorld({ on: world.sandbox });
    const restore = world.sandbox.links.fault({
      kind: 'answer',
      path: '/api/plans',
      rewrite: (answer) => {
        const { data } = answer.body as { data: unknown[] };
        data.shift();
        return answer;
      },
    });
    const { users } = await other.data<{ users: { planId: number; plan: object | null }[] }>(
      '{ users { planId plan { name } } }',
    );
    restore();
    for (const { planId, plan } of users) expect(plan === null, String(planId)).toBe(planId === 1);
  });
});
