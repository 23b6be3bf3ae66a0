import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Connection, type Row, startWorld, type World } from '../support/gateway.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
beforeEach(() => world.forgetCalls());

/** The fields that look up one row, with the list that shows the same rows, and what is selected of them. */
const lookups = [
  ['domain', 'domains', 'domain redirectRoot redirect404'],
  ['overlay', 'overlays', 'name type date'],
  ['splashPage', 'splashPages', 'name date'],
  ['file', 'files', 'name downloads shortUrl date'],
  ['pixel', 'pixels', 'name tag type date'],
  ['campaign', 'campaigns', 'name public rotatorUrl'],
  ['channel', 'channels', 'name description color starred'],
  ['qrCode', 'qrCodes', 'link scans name date'],
  ['item', 'items', 'name version'],
] as const;

describe.each(lookups)('Query.%s', (field, list, fields) => {
  const query = `query ($id: ID!) { row: ${field}(id: $id) { id databaseId ${fields} } }`;

  it('finds a row by its global id and by the integer of the API, for nothing on a cached page', async () => {
    const { rows } = await world.data<{ rows: Connection<Row> }>(
      `{ rows: ${list}(last: 2) { nodes { id databaseId ${fields} } } }`,
    );
    world.forgetCalls();
    for (const row of rows.nodes) {
      for (const id of [row['id'], String(row['databaseId']), row['databaseId']]) {
        expect(await world.data(query, { id })).toEqual({ row });
      }
    }
    expect(rows.nodes).toHaveLength(2);
    expect(world.calls()).toEqual([]);
  });

  it('is null for an id that no row has', async () => {
    expect(await world.data(query, { id: '999999' })).toEqual({ row: null });
  });
});

describe('Query.plan', () => {
  it('finds a plan by both ids, and costs the list of plans', async () => {
    const fresh = await startWorld({ on: world.sandbox });
    const query = 'query ($id: ID!) { plan(id: $id) { id name limits { links } } }';
    const { data, receipt } = await fresh.ask<{ plan: Row }>(query, { id: '2' });
    expect(data.plan).toMatchObject({ name: expect.any(String) });
    expect(receipt.calls).toBe(1);
    expect(await fresh.ask(query, { id: data.plan['id'] })).toMatchObject({
      data: { plan: data.plan },
      receipt: { calls: 0 },
    });
  });
});
