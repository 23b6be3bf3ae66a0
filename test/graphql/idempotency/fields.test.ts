import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { asTimePasses, until } from '../../support/uploads.ts';
import { askKeyed, create, next, replayed, reused } from './keyed.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});

describe('several fields under one header', () => {
  it('have a key each, by their order', async () => {
    const key = next();
    const both = `mutation {
      a: createChannel(input: { name: "${key} a" }) { ... on Channel { id } }
      b: createChannel(input: { name: "${key} a" }) { ... on Channel { id } }
    }`;
    const first = await askKeyed(door, key, both);
    expect(first).toMatchObject({
      outcomes: { a: ['EXECUTED', 1], b: ['EXECUTED', 1] },
      sent: 2,
      replayed: null,
    });
    expect(first.data?.['a']).not.toEqual(first.data?.['b']);
    const again = await askKeyed(door, key, both);
    expect(again).toMatchObject({
      outcomes: { a: ['REPLAYED', 0], b: ['REPLAYED', 0] },
      sent: 0,
      replayed: 'true',
    });
    expect(again.data).toEqual(first.data);
  });

  it('are numbered as they are executed, behind fragments and conditions', async () => {
    const key = next();
    const field = (name: string) =>
      `${name}: createChannel(input: { name: "${key} ${name}" }) { ... on Channel { id } }`;
    const query = `mutation ($no: Boolean!) {
      __typename
      ${field('skipped').replace('{ ...', '@include(if: $no) { ...')}
      ...A
      ${field('third')}
    } fragment A on Mutation { ${field('first')} ... { ${field('second')} } }`;
    const first = await askKeyed(door, key, query, { variables: { no: false } });
    expect(first).toMatchObject({ errors: [], sent: 3 });
    const plain = `mutation { ${field('first')} ${field('second')} ${field('third')} }`;
    const again = await askKeyed(door, key, plain);
    expect(again).toMatchObject({ sent: 0, replayed: 'true' });
  });

  it('do not meet a key that looks like one of theirs', async () => {
    const key = next();
    const two = `mutation { a: deleteChannel(id: 999998) { __typename } b: deleteChannel(id: 999999) { __typename } }`;
    await askKeyed(door, key, two);
    for (const looks of [`${key}#1`, `${key}#2`, `${key},2`, `${key}",2`]) {
      const { code, sent } = await askKeyed(door, null, create(next()), {
        headers: { 'idempotency-key': `"${looks.replaceAll('"', '\\"')}"` },
      });
      expect([code, sent], looks).toEqual([undefined, 1]);
    }
  });

  it('of which one has failed: a retry replays the others and executes that one', async () => {
    const key = next();
    const query = `mutation {
      a: createChannel(input: { name: "${key} a" }) { ... on Channel { id } }
      b: createPixel(input: { type: GTM, name: "${key}", tag: "GTM-ABCDE" }) { __typename }
      c: createChannel(input: { name: "${key} c" }) { ... on Channel { id } }
    }`;
    door.sandbox.links.fault({ kind: 'bad-key', path: '/api/pixel/add', times: 1 });
    const first = await askKeyed(door, key, query);
    expect(first).toMatchObject({
      code: 'UPSTREAM_UNAUTHENTICATED',
      data: { a: { id: expect.any(String) }, b: null, c: { id: expect.any(String) } },
      outcomes: { a: ['EXECUTED', 1], c: ['EXECUTED', 1] },
      sent: 3,
      replayed: null,
    });
    const again = await askKeyed(door, key, query);
    expect(again).toMatchObject({
      errors: [],
      outcomes: { a: ['REPLAYED', 0], b: ['EXECUTED', 1], c: ['REPLAYED', 0] },
      sent: 1,
      replayed: null,
    });
    expect(await askKeyed(door, key, query)).toMatchObject({ sent: 0, replayed: 'true' });
  });

  it('of which one was sent alone before: it is not taken for another', async () => {
    const key = next();
    const fields = ['a', 'b'].map(
      (name) => `${name}: createChannel(input: { name: "${key} ${name}" }) { __typename }`,
    );
    await askKeyed(door, key, `mutation { ${fields.join(' ')} }`);
    expect(await askKeyed(door, key, `mutation { ${fields[1]} }`)).toMatchObject(reused);
    expect(await askKeyed(door, key, `mutation { ${fields[0]} }`)).toMatchObject({ sent: 0 });
  });
});

describe('a key in use', () => {
  let answer = () => {};
  let before = 0;
  beforeEach(() => {
    const until = new Promise<void>((resolve) => {
      answer = resolve;
    });
    door.sandbox.links.fault({ kind: 'hold', until, path: '/api/channel/add', times: 1 });
    before = door.calls();
  });

  it('makes others wait for the same result', async () => {
    const key = next();
    const all = Array.from({ length: 20 }, () => askKeyed(door, key, create(key)));
    await until(() => door.calls() > before);
    answer();
    const replies = await asTimePasses(door.clock, Promise.all(all));
    expect(door.calls() - before).toBe(1);
    expect(new Set(replies.map(({ text }) => JSON.stringify(JSON.parse(text).data))).size).toBe(1);
    const outcomes = replies.map(({ reports }) => reports[0]?.outcome);
    expect(outcomes.filter((outcome) => outcome === 'EXECUTED')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'REPLAYED')).toHaveLength(19);
  });

  it('is refused with 409 and the time of a retry when the patience of a caller ends', async () => {
    const key = next();
    const first = askKeyed(door, key, create(key));
    await until(() => door.calls() > before);
    for (const [accept, status] of [
      ['application/graphql-response+json', 409],
      ['application/json', 200],
    ] as const) {
      const headers = { accept, prefer: 'wait=0' };
      const refused = await asTimePasses(door.clock, askKeyed(door, key, create(key), { headers }));
      expect(refused).toMatchObject({
        code: 'IDEMPOTENCY_KEY_IN_USE',
        status,
        data: { createChannel: null },
        sent: 0,
      });
      const { retryAfterMs } = refused.errors[0]?.extensions ?? {};
      expect(retryAfterMs).toBeGreaterThan(0);
      const seconds = Math.ceil(Number(retryAfterMs) / 1000);
      expect(refused.headers.get('retry-after')).toBe(String(seconds));
    }
    answer();
    expect(await asTimePasses(door.clock, first)).toMatchObject({ errors: [] });
    expect(await askKeyed(door, key, create(key))).toMatchObject(replayed);
  });
});
