import { afterEach, describe, expect, it } from 'vitest';
import { tokenFile } from '../support/folder.ts';
import { POINT, type Point, SeriesWorld } from './series-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let world: SeriesWorld;
const start = async (env: Record<string, string> = {}): Promise<SeriesWorld> => {
  world = await SeriesWorld.start(env);
  return world;
};
afterEach(() => world[Symbol.asyncDispose]());

const DATE = '2029-05-01 10:00:00';

const brief = (points: readonly Point[]): string[] =>
  points.map(({ at, observed, value }) => `${at} ${value}${observed ? '' : ' gap'}`);

const values = (points: readonly Point[]): (number | null)[] => points.map(({ value }) => value);

async function scans(id: number, span: string, headers = {}): Promise<Point[]> {
  const { qrCode } = await world.data<{ qrCode: { scanHistory: Point[] } }>(
    `{ qrCode(id: ${id}) { scanHistory(${span}) { ${POINT} } } }`,
    headers,
  );
  return qrCode.scanHistory;
}

async function total(list: string, span: string, headers = {}): Promise<Point[]> {
  const { totalCountHistory } = await world.data<{ totalCountHistory: Point[] }>(
    `{ totalCountHistory(list: ${list}, ${span}) { ${POINT} } }`,
    headers,
  );
  return totalCountHistory;
}

describe('a history', () => {
  it('has a point for each step, with gaps where nothing was read', async () => {
    const { clock, model } = await start();
    model.qrCodes = [{ id: 7, date: DATE, count: 10 }];
    expect(brief(await scans(7, 'step: HOUR, last: 3'))).toEqual([
      '2029-12-31T22:00:00Z null gap',
      '2029-12-31T23:00:00Z null gap',
      '2030-01-01T00:00:00Z 10',
    ]);
    await clock.advance(3 * HOUR);
    model.qrCodes = [{ id: 7, date: DATE, count: 12 }];
    const after = [
      '2029-12-31T23:00:00Z null gap',
      '2030-01-01T00:00:00Z 10',
      '2030-01-01T01:00:00Z 10 gap',
      '2030-01-01T02:00:00Z 10 gap',
      '2030-01-01T03:00:00Z 12',
    ];
    expect(brief(await scans(7, 'step: HOUR, last: 5'))).toEqual(after);
    await clock.advance(20 * HOUR);
    model.qrCodes = [{ id: 7, date: DATE, count: 15 }];
    await scans(7, 'last: 1');
    await clock.advance(HOUR);
    // Days end at midnight in UTC.
    expect(brief(await scans(7, 'last: 3'))).toEqual([
      '2029-12-31T00:00:00Z null gap',
      '2030-01-01T00:00:00Z 15',
      '2030-01-02T00:00:00Z 15',
    ]);
  });

  it('is of rows, of the seller’s balance, and of the length of lists', async () => {
    const { clock, model } = await start();
    model.files = [{ id: 3, date: DATE, count: 5 }];
    model.balance = 12.34;
    await world.data('{ files { totalCount } seller { balance } }');
    await clock.advance(HOUR);
    model.files = [
      { id: 3, date: DATE, count: 2_000_000_000 },
      { id: 4, date: DATE, count: 1 },
    ];
    model.balance = -0.5;
    const { files, seller } = await world.data<{
      files: { nodes: { downloadHistory: Point[] }[] };
      seller: { balanceHistory: Point[] };
    }>(`{
      files { nodes { downloadHistory(step: HOUR, last: 2) { value } } }
      seller { balanceHistory(step: HOUR, last: 2) { value } }
    }`);
    expect(files.nodes.map((file) => values(file.downloadHistory))).toEqual([
      [5, 2_000_000_000],
      [null, 1],
    ]);
    expect(values(seller.balanceHistory)).toEqual([12.34, -0.5]);
    expect(values(await total('FILES', 'step: HOUR, last: 2'))).toEqual([1, 2]);
    expect(values(await total('CHANNELS', 'step: HOUR, last: 2'))).toEqual([null, null]);
  });

  it('costs nothing, also in a dry run, and counts its points as items', async () => {
    const { model } = await start();
    model.qrCodes = [{ id: 7, date: DATE, count: 10 }];
    const query = `{ totalCountHistory(list: QR_CODES) { at } qrCode(id: 7) { scanHistory { at } } }`;
    const dry = await world.ask(query, { 'x-gateway-dry-run': 'true' });
    const { extensions } = await world.ask(query);
    expect(extensions.upstream.calls).toBe(1);
    expect(JSON.stringify(dry)).toContain('"calls":1');
    const many = await world.ask(
      '{ qrCodes(first: 500) { nodes { scanHistory(step: HOUR, last: 720) { at } } } }',
    );
    expect(many.errors?.[0]?.extensions.code).toBe('OPERATION_TOO_EXPENSIVE');
  });

  it.each([
    ['step: HOUR, last: 721', 720, 'HOUR'],
    ['step: DAY, last: 401', 400, 'DAY'],
    ['last: 0', 400, 'DAY'],
    ['last: -1', 400, 'DAY'],
  ])('refuses %s', async (span, most, step) => {
    await start();
    const { data, errors } = await world.ask<object>(
      `{ account { username } totalCountHistory(list: FILES, ${span}) { at } }`,
    );
    expect(data).toEqual({ account: { username: 'owner' }, totalCountHistory: null });
    expect(errors?.[0]?.message).toContain(`from 1 to ${most} for steps of a ${step}`);
    expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
  });

  it('keeps 30 days of hours and 400 days, with the value that each begins with', async () => {
    const { clock, model } = await start();
    const set = (count: number) => {
      model.qrCodes = [{ id: 7, date: DATE, count }];
    };
    for (const count of [1, 2, 3]) {
      set(count);
      await scans(7, 'last: 1');
      await clock.advance(200 * 24 * HOUR);
    }
    set(4);
    await scans(7, 'last: 1');
    const days = await scans(7, 'last: 400');
    expect([values(days.slice(0, 2)), values(days.slice(-2))]).toEqual([
      [2, 2],
      [3, 4],
    ]);
    expect(days.filter(({ observed }) => observed)).toHaveLength(2);
    const hours = await scans(7, 'step: HOUR, last: 720');
    expect([hours[0]?.value, hours.filter(({ observed }) => observed).length]).toEqual([3, 1]);
  });

  it('has no point after the current time when the clock was set back', async () => {
    const { clock, model } = await start();
    model.qrCodes = [{ id: 7, date: DATE, count: 10 }];
    await scans(7, 'last: 1');
    await clock.advance(5 * HOUR);
    model.qrCodes = [{ id: 7, date: DATE, count: 15 }];
    await scans(7, 'last: 1');
    clock.jumpWall(-3 * HOUR);
    await clock.advance(10 * MINUTE);
    model.qrCodes = [{ id: 7, date: DATE, count: 16 }];
    const expected = [
      '2029-12-31T23:00:00Z null gap',
      '2030-01-01T00:00:00Z 10',
      '2030-01-01T01:00:00Z 10 gap',
      '2030-01-01T02:00:00Z 16',
    ];
    expect(brief(await scans(7, 'step: HOUR, last: 4'))).toEqual(expected);
    await world.kill();
    expect(brief(await scans(7, 'step: HOUR, last: 4'))).toEqual(expected);
    await clock.advance(3 * HOUR);
    expect(brief(await scans(7, 'step: HOUR, last: 4')).at(-1)).toBe('2030-01-01T05:00:00Z 16');
  });
});

describe('a row that was deleted and created again with the same id', () => {
  const deletions: [string, () => Promise<unknown>][] = [
    ['by a mutation', () => world.data('mutation { deleteQrCode(id: 7) { __typename } }')],
    [
      'elsewhere, and was found absent by its id',
      async () => {
        world.model.qrCodes = [];
        await world.data('{ qrCode(id: 7) { statistics { clicks } } }');
      },
    ],
    [
      'elsewhere, and was missing in the whole list',
      async () => {
        world.model.qrCodes = world.model.qrCodes.slice(1);
        await world.data('{ qrCodes(first: 100) { totalCount } }');
      },
    ],
  ];

  it.each(deletions)(
    '%s has no history from before, without a creation time',
    async (_, remove) => {
      const { clock, model } = await start();
      const others = Array.from({ length: 15 }, (__, index) => ({ id: 100 + index, count: 0 }));
      model.qrCodes = [{ id: 7, count: 10 }, ...others];
      await scans(7, 'last: 1');
      await clock.advance(HOUR);
      await remove();
      await clock.advance(HOUR);
      model.qrCodes = [{ id: 7, count: 1 }, ...others];
      const expected = [null, null, 1];
      expect(values(await scans(7, 'step: HOUR, last: 3'))).toEqual(expected);
      await world.kill();
      expect(values(await scans(7, 'step: HOUR, last: 3'))).toEqual(expected);
    },
  );

  it('has none by its creation time, however it was deleted; otherwise it is the same row', async () => {
    const { clock, model } = await start();
    model.qrCodes = [{ id: 7, date: DATE, count: 10 }];
    await scans(7, 'last: 1');
    await clock.advance(HOUR);
    model.qrCodes = [];
    await world.data('{ qrCodes { totalCount } }');
    await clock.advance(HOUR);
    model.qrCodes = [{ id: 7, date: DATE, count: 11 }];
    expect(values(await scans(7, 'step: HOUR, last: 3'))).toEqual([10, 10, 11]);
    await clock.advance(HOUR);
    model.qrCodes = [{ id: 7, date: '2030-01-01 02:30:00', count: 1 }];
    expect(values(await scans(7, 'step: HOUR, last: 4'))).toEqual([null, null, null, 1]);
  });

  it('is like a balance in another currency', async () => {
    const { clock, model } = await start();
    await world.data('{ seller { balance } }');
    await clock.advance(HOUR);
    model.currency = 'USD';
    const { seller } = await world.data<{ seller: { balanceHistory: Point[] } }>(
      '{ seller { balanceHistory(step: HOUR, last: 2) { value } } }',
    );
    expect(values(seller.balanceHistory)).toEqual([null, 100]);
  });
});

describe('an owner', () => {
  it('sees the history of its own key alone, also after a restart', async () => {
    const { clock, model } = await start({ AUTH_MODE: 'passthrough', LINKS_API_KEY: '' });
    const mine = { authorization: 'Bearer mine' };
    const other = { authorization: 'Bearer other' };
    model.qrCodes = [{ id: 7, date: DATE, count: 10 }];
    await scans(7, 'last: 1', mine);
    await world.data('{ qrCodes { totalCount } }', mine);
    await clock.advance(HOUR);
    const look = async () => ({
      mine: values(await total('QR_CODES', 'step: HOUR, last: 2', mine)),
      other: values(await total('QR_CODES', 'step: HOUR, last: 2', other)),
      scans: values(await scans(7, 'step: HOUR, last: 2', other)),
    });
    const expected = { mine: [1, 1], other: [null, null], scans: [null, 10] };
    expect(await look()).toEqual(expected);
    await world.kill();
    expect(await look()).toEqual(expected);
    const saved = JSON.stringify([...(await world.saved())]);
    expect(saved).toContain('counts');
    for (const secret of ['mine', 'other', 'market-key']) {
      expect(saved).not.toContain(secret);
    }
  });

  it('whose key is not accepted sees nothing', async () => {
    const { clock, model } = await start({ AUTH_MODE: 'passthrough', LINKS_API_KEY: '' });
    const mine = { authorization: 'Bearer mine' };
    await world.data('{ qrCodes { totalCount } }', mine);
    await clock.advance(HOUR);
    model.refusesKeys = true;
    const query = '{ totalCountHistory(list: QR_CODES) { value } }';
    const { data, errors } = await world.ask<object>(query, mine);
    expect(data).toEqual({ totalCountHistory: null });
    expect(errors?.[0]?.extensions.code).toBe('UPSTREAM_UNAUTHENTICATED');
  });

  it('needs the role that the items need', async () => {
    const file = tokenFile({ name: 'viewer', role: 'viewer' }, { name: 'admin', role: 'admin' });
    await start({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
    const codeOf = async (list: string, role: string) => {
      const query = `{ totalCountHistory(list: ${list}) { value } }`;
      const { errors } = await world.ask(query, { authorization: `Bearer ${role}` });
      return errors?.[0]?.extensions.code;
    };
    expect(await codeOf('FILES', 'viewer')).toBeUndefined();
    expect(await codeOf('USERS', 'viewer')).toBe('FORBIDDEN');
    expect(await codeOf('PLANS', 'viewer')).toBe('FORBIDDEN');
    expect(await codeOf('USERS', 'admin')).toBeUndefined();
  });
});
