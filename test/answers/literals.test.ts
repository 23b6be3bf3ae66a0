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
  const variables = { id: '', literal_0: 1 };
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
    (a, b) => `{ campaigns(first: 2) { totalCount } campaigns(first: ${b}) { totalCount }
      campaign(id: ${a}) { name } }`,
    (a, b) => `{ account { username @include(if: ${a}) } channels(first: ${b}) { nodes { id } } }`,
  ];
  /** Literals that look like those that fit. */
  const others = [
    ['0', '-1', '-0', '01', '3a', '1.0', '2e0', '4000000000', '9007199254740993'],
    ['"2"', '"\\u0032"', '"""2"""', '"2" "3"', '"\t"', '"\u2028"', '"\ud800"', '"🐧"', '""'],
    ['', 'true', 'null', 'ONE', '[1]', '{}', '$id', '1 #\ud800\n', '1\u00a0', '1,2', '"a', '1 "2"'],
  ].flat();

  it.each(templates)(
    'is answered as on the whole path, whatever they are: %s',
    async (template) => {
      const cached = await whole(
        '{ campaigns(first: 9) { nodes { id } } channels(first: 9) { nodes { id items(first: 2) { totalCount } } } }',
      );
      const [campaign = ''] = /"Q2FtcGFpZ2[^"]+"/.exec(cached) ?? [];
      const [channel = ''] = /"Q2hhbm5lb[^"]+"/.exec(cached) ?? [];
      variables.id = JSON.parse(campaign);
      const before = await answeredFast();
      let nth = 0;
      for (const usual of ['1', campaign, channel]) {
        for (const other of [...others, campaign, channel]) {
          for (const odd of [template(other, '4'), template(usual, other)]) {
            // Others that fit, so that there is a plan by which it could be answered.
            for (const first of ['2', '3']) await fast(template(usual, first));
            nth += 1;
            const text = odd.replace('query A', `query A${nth}`);
            const first = await whole(text);
            const answer = await fast(text);
            // The first time can take calls.
            const again = /"calls":[1-9]/.test(first) ? await whole(text) : first;
            expect({ text, answer }).toEqual({ text, answer: again });
          }
        }
      }
      // What is not answered so is not compared with anything.
      expect(await answeredFast()).toBeGreaterThan(before);
    },
  );

  it('is refused where a number ends in a word, as on the whole path', async () => {
    for (const gap of [' ', ' ', '\t', ',', '', '.', '\u00a0']) {
      const text = `{ campaigns(first: 2${gap}last: null) { totalCount } }`;
      await whole(text);
      const answer = await fast(text);
      expect({ text, answer }).toEqual({ text, answer: await whole(text) });
    }
    expect(await answeredFast()).toBeGreaterThan(1);
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
