import { beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { type Answer, openSandbox, type Row, startWorld } from '../../support/gateway.ts';

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await openSandbox();
});

/** Asks a gateway that has read nothing, of APIs that refuse every single read in these words. */
async function ask(query: string, refusal: Row, status = 200): Promise<Answer<Row | null>> {
  const world = await startWorld({ on: sandbox });
  const restores = [sandbox.links, sandbox.market].map((api) =>
    api.fault({
      kind: 'answer',
      path: /^\/api\/(?:(?:channel|user|qr)\/\d+|items\/item|purchases\/validation)$/,
      rewrite: () => ({ status, headers: {}, body: refusal }),
    }),
  );
  try {
    return await world.ask<Row | null>(query);
  } finally {
    for (const restore of restores) restore();
    await world.close();
  }
}

const reads = [
  '{ row: user(id: 3) { email } }',
  '{ row: channel(id: 99) { items(first: 3) { totalCount } } }',
  '{ row: qrCode(id: 301) { statistics { clicks } } }',
  '{ row: qrCode(id: 301) { name } }',
  '{ row: item(id: 1) { name } }',
  '{ row: purchase(code: "x") { code } }',
];

const scopes = [
  'You do not have permission to access this endpoint.',
  'This API key does not have the required scope.',
  'Your API key has insufficient privileges.',
  'You are not authorised to do this',
  'Access denied.',
  'This is for admins only.',
];

describe('A refusal for what the key may do', () => {
  it.each(reads)('of %s is UPSTREAM_FORBIDDEN, and not null', async (query) => {
    const message = scopes[0];
    for (const refusal of [
      { error: true, status: 'error', message, msg: message },
      { error: 1, status: 'error', message: '', msg: message },
    ]) {
      const { errors } = await ask(query, refusal);
      expect(errors.map(({ extensions }) => extensions?.code)).toEqual(['UPSTREAM_FORBIDDEN']);
    }
  });

  it.each(scopes)('is told from absence by its words: %s', async (message) => {
    const { errors } = await ask('{ row: user(id: 3) { email } }', { error: true, message });
    expect(errors.map(({ extensions }) => extensions?.code)).toEqual(['UPSTREAM_FORBIDDEN']);
  });

  it('is an error even where its words say nothing to us', async () => {
    for (const query of reads) {
      const { errors } = await ask(query, { error: 1, message: 'Computer says no', msg: 'No' });
      expect(errors.map(({ extensions }) => extensions?.code)).toEqual(['UPSTREAM_REJECTED']);
    }
  });
});

describe('A refusal because there is no such thing', () => {
  it.each(['User not found', 'The requested user does not exist.', 'No such user'])(
    'is null by its words: %s',
    async (message) => {
      const { data, errors } = await ask('{ row: user(id: 3) { email } }', {
        error: true,
        message,
      });
      expect({ data, errors }).toEqual({ data: { row: null }, errors: [] });
    },
  );

  it('is null for a purchase, in the documented words', async () => {
    const query = '{ row: purchase(code: "x") { code } }';
    const { data, errors } = await ask(query, { status: 'error', msg: 'Invalid purchase code' });
    expect({ data, errors }).toEqual({ data: { row: null }, errors: [] });
  });

  it('is null with the status 404, whatever its words', async () => {
    for (const query of reads) {
      const { data, errors } = await ask(query, { error: 1, message: 'Jo', msg: 'Jo' }, 404);
      const row = query.includes('items(') || data?.['row'] === null;
      expect({ row, errors }).toEqual({ row: true, errors: [] });
    }
  });
});
