import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';

describe('A text that differs from others in its literals', () => {
  let door: Door;
  beforeEach(async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    // From now on it is known in which form this client is answered.
    await fast('{ account { username } }');
  });
  afterEach(async () => {
    await door.close();
  });

  /** What each text can use. */
  const variables = { id: '1', literal_0: 1 };
  const post = (query: string): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  /** What comes through `fetch` has no socket, and takes the whole path. */
  const whole = async (query: string): Promise<string> => {
    const response = await door.gateway.fetch(new Request('http://gateway/graphql', post(query)));
    return `${response.status} ${await response.text()}`;
  };
  const fast = async (query: string): Promise<string> => {
    const { status, text } = await door.send('/graphql', post(query));
    return `${status} ${text}`;
  };
  const answeredFast = async (): Promise<number> => {
    const { text } = await door.send('/metrics');
    return Number(/^gateway_operations_at_hand_total (\d+)/m.exec(text)?.[1]);
  };

  /** Texts with two literals. Not each can have others by the same plan. */
  const templates: readonly ((a: string, b: string) => string)[] = [
    (a, b) => `query A { campaign(id: ${a}) { id name } campaigns(first: ${b}) { totalCount } }`,
    (a, b) => `{ one: channel(id: ${a}) { ...F } two: channels(first: ${b}) { nodes { ...F } } }
      fragment F on Channel { name items(first: 2) { totalCount } }`,
    (a, b) => `query ($id: ID! = ${a}) { campaign(id: $id) { name }
      campaigns(last: ${b}) { nodes { name } } }`,
    (a, b) => `query ($literal_0: Int) { campaign(id: ${a}) { name }
      campaigns(first: $literal_0) { totalCount } channels(first: ${b}) { totalCount } }`,
    (a, b) => `{ campaigns(first: ${a}, after: ${b}) { nodes { name } pageInfo { endCursor } } }`,
    (a, b) => `{ nodes(ids: [${a}, ${b}]) { __typename id } }`,
    (a, b) => `{ campaigns(first: ${a}) { totalCount } campaigns(first: ${b}) { totalCount } }`,
    (a, b) => `{ account { username @include(if: ${a}) } channels(first: ${b}) { nodes { id } } }`,
  ];
  const others = [
    ['0', '-1', '-0', '01', '3a', '1.0', '2e0', '4000000000', '12345678901234567890'],
    ['"2"', '"\\u0032"', '"""2"""', '"2" "3"', '"\t"', '"\u2028"', '"\ud800"', '"🐧"', '""'],
    ['', 'true', 'null', 'ONE', '[1]', '{}', '$id', '1 #\u0000', '1\u00a0', '1,2'],
  ].flat();
  /** Literals that fit, and others that look like them. */
  const literal = (usual: readonly string[]): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom(...usual) },
      { weight: 2, arbitrary: fc.constantFrom(...others) },
      fc.integer().map(String),
      fc.string().map((text) => JSON.stringify(text)),
    );

  it('is answered as on the whole path, whatever they are', { timeout: 60_000 }, async () => {
    const cached = await whole(
      '{ campaigns(first: 5) { nodes { id } } channels(first: 5) { nodes { id items(first: 2) { totalCount } } } }',
    );
    const ids = [...cached.matchAll(/"id":("[^"]+")/g)].map(([, id = '']) => id);
    const some = literal(['1', '2', '3', ...ids]);
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...templates),
        fc.array(fc.tuple(some, some), { minLength: 4, maxLength: 8 }),
        async (template, values) => {
          for (const [a, b] of values) {
            const text = template(a, b);
            // The first time can take calls.
            await whole(text);
            const expected = await whole(text);
            if (!expected.includes('"errors"')) asked += 1;
            expect({ text, answer: await fast(text) }).toEqual({ text, answer: expected });
          }
        },
      ),
      { numRuns: Number(process.env['LITERAL_RUNS'] ?? 150) },
    );
    expect(await answeredFast()).toBeGreaterThan(asked / 4);
  });

  it('has the values of its own literals', async () => {
    const text = (first: number, alias: string) =>
      `query Q${first} { ${alias}: campaigns(first: ${first}) { nodes { name } } }`;
    await whole(text(5, 'list'));
    const before = await answeredFast();
    for (const first of [1, 2, 3, 4, 5, 1, 2, 3]) {
      const answer = await fast(text(first, 'list'));
      expect(JSON.parse(answer.slice(4)).data.list.nodes).toHaveLength(first);
    }
    expect((await answeredFast()) - before).toBe(8);
  });
});
