import { describe, expect, it } from 'vitest';
import type { World } from '../../support/gateway.ts';
import { overStandIn, type StandIn, upTo } from './stand-in.ts';

const MISSING = upTo(17).map((n) => 1000 + n);
const globalId = (id: number) => Buffer.from(`QrCode:${id}`).toString('base64url');

/** They are on 3 pages of ten. */
describe('Rows of which a list has shown that they do not exist', () => {
  let upstream: StandIn;
  let world: World;
  overStandIn(async (standIn, over) => {
    [upstream, world] = [standIn, over];
    upstream.qrs = upTo(25);
    upstream.channels = [7];
    upstream.items.set(
      7,
      [...MISSING, 1, 12, 25].map((id) => ({ type: 'qr', id })),
    );
  });
  const codes = () => upstream.log.filter((each) => each.startsWith('/api/qr')).sort();
  const pages = ['/api/qr 1', '/api/qr 2', '/api/qr 3'];

  it('are null as `nodes`, for the pages of the list only', async () => {
    const ids = [...MISSING, 1, 12, 25].map(globalId);
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const found = [...MISSING.map(() => null), ...[1, 12, 25].map((id) => ({ id: globalId(id) }))];
    expect(await world.data(query, { ids })).toEqual({ nodes: found });
    expect(codes()).toEqual(pages);
    expect(await world.data(query, { ids })).toEqual({ nodes: found });
    expect(codes()).toEqual(pages);
  });

  it('are null as what rows refer to, for the pages of the list only', async () => {
    const { channel } = await world.data<{
      channel: { items: { nodes: { qrCode: { name: string } | null }[] } };
    }>('{ channel(id: 7) { items(first: 50) { nodes { ... on QrItem { qrCode { name } } } } } }');
    const names = channel.items.nodes.map(({ qrCode }) => qrCode?.name ?? null);
    expect(names).toEqual([...MISSING.map(() => null), 'Code 1', 'Code 12', 'Code 25']);
    expect(codes()).toEqual(pages);
  });

  it('are null where a list was read whole before, and one alone is read anew', async () => {
    await world.data('{ qrCodes(first: 100) { totalCount } }');
    upstream.log.length = 0;
    const two = MISSING.slice(0, 2).map(globalId);
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    expect(await world.data(query, { ids: two })).toEqual({ nodes: [null, null] });
    expect(codes()).toEqual([]);
    expect(await world.data(`{ qrCode(id: 1001) { name } }`)).toEqual({ qrCode: null });
    expect(codes()).toEqual(['/api/qr/1001']);
  });

  it('are read one by one where that costs less', async () => {
    const ids = MISSING.slice(0, 2).map(globalId);
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    expect(await world.data(query, { ids })).toEqual({ nodes: [null, null] });
    expect(upstream.log.length).toBeLessThanOrEqual(3);
  });

  it('are not taken for gone when they move to a page that was read before', async () => {
    upstream.late = true;
    // A row of the first page is deleted after it was sent: row 11 is then on it.
    let reads = 0;
    upstream.delay = (path, page) => {
      if (path === '/api/qr' && page === 2 && reads++ === 0) {
        upstream.qrs = upstream.qrs.filter((id) => id !== 3);
      }
      return 0;
    };
    const ids = [11, 24, 25, ...MISSING].map(globalId);
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const { nodes } = await world.data<{ nodes: ({ id: string } | null)[] }>(query, { ids });
    expect(nodes.filter(Boolean)).toHaveLength(3);
    upstream.late = false;
    upstream.delay = () => 0;
  });
});
