import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { rounds } from '../support/rounds.ts';
import { anyQuery } from './any-query.ts';

const LIST = 'query L($first: Int!) { campaigns(first: $first) { nodes { name } totalCount } }';

describe('A query on the whole path that is executed by its compiled plan', () => {
  let door: Door;
  beforeEach(async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
  });
  afterEach(async () => {
    await door.close();
  });

  const request = (query: string, variables: object, more: object = {}): RequestInit => ({
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      // Which keeps it from the fast path.
      'content-encoding': 'identity',
      prefer: 'wait=5',
      ...more,
    },
    body: JSON.stringify({ query, variables }),
  });
  const visible = (status: number, headers: Headers, text: string): string => {
    const names = ['content-type', 'cache-control', 'preference-applied', 'etag', 'age', 'vary'];
    return [status, ...names.map((name) => headers.get(name)), text].join('\n');
  };
  /** What comes through `fetch` has no socket: the executor answers it. */
  const executed = async (path: string, init: RequestInit): Promise<string> => {
    const response = await door.gateway.fetch(new Request(`http://gateway${path}`, init));
    // What comes over a socket can be compressed, and says so.
    response.headers.append('vary', 'Accept-Encoding');
    return visible(response.status, response.headers, await response.text());
  };
  const compiled = async (path: string, init: RequestInit): Promise<string> => {
    const { headers, status, text } = await door.send(path, init);
    return visible(status, headers, text);
  };

  it('is what the executor answers, whatever is selected', async () => {
    await fc.assert(
      fc.asyncProperty(anyQuery(door.gateway.schema), async ({ query, variables: [one, two] }) => {
        await executed('/graphql', request(query, one));
        await executed('/graphql', request(query, two));
        // Compiled at the second time.
        await compiled('/graphql', request(query, one));
        const answers = [
          await compiled('/graphql', request(query, two)),
          await compiled('/graphql', request(query, one)),
        ];
        const inTurn = [
          await executed('/graphql', request(query, two)),
          await executed('/graphql', request(query, one)),
        ];
        expect(answers).toEqual(inTurn);
      }),
      { numRuns: rounds(40) },
    );
  });

  it('has the tag and the age of the executor by GET, and is not modified under it', async () => {
    const ask = (first: number, more: object = {}) => {
      const variables = JSON.stringify({ first });
      const path = `/graphql?${new URLSearchParams({ query: LIST, variables })}`;
      const encoding = { 'content-encoding': 'identity' };
      const headers = { accept: 'application/json', prefer: 'wait=5', ...encoding, ...more };
      return [path, { headers }] as const;
    };
    await executed(...ask(2));
    await door.clock.advance(2500);
    await compiled(...ask(2));
    const answer = await compiled(...ask(2));
    expect(answer).toBe(await executed(...ask(2)));
    const { headers } = await door.send(...ask(2));
    const known = { 'if-none-match': headers.get('etag') ?? '' };
    const again = await compiled(...ask(2, known));
    expect(again).toBe(await executed(...ask(2, known)));
    expect(again.slice(0, 3)).toBe('304');
  });

  it('keeps what it is made of fresh, though nothing else asks for it', async () => {
    for (let second = 0; second < 290; second += 1) {
      await door.clock.advance(1000);
      await compiled('/graphql', request(LIST, { first: 1 + (second % 20) }));
    }
    const { text } = await door.send('/graphql', request(LIST, { first: 3 }));
    expect(JSON.parse(text).extensions.upstream.maxAgeMs).toBeLessThan(60_000);
    // The first, and once for each time that four fifths of its minute were over.
    expect(door.calls()).toBe(7);
  });

  it('shows a write at once, and refuses variables as the executor does', async () => {
    const BY_ID =
      'query C($id: ID!, $more: Int = 1) { campaign(id: $id) { id name } campaigns(first: $more) { totalCount } }';
    const list = await door.send(
      '/graphql',
      request('{ campaigns(first: 1) { nodes { id } } }', {}),
    );
    const { id } = JSON.parse(list.text).data.campaigns.nodes[0];
    const rename =
      'mutation($id: ID!, $name: String!) { updateCampaign(input: { id: $id, name: $name }) { __typename } }';
    for (const name of ['one', 'two', 'three', 'four']) {
      await door.send('/graphql', request(rename, { id, name }));
      for (let times = 0; times < 3; times += 1) {
        const answer = await compiled('/graphql', request(BY_ID, { id }));
        expect(answer).toContain(`"name":"${name}"`);
      }
    }
    for (const variables of [{}, { id: 3, more: 'x' }, { id, more: 4e9 }, { id: null }]) {
      const answer = await compiled('/graphql', request(BY_ID, variables));
      expect(answer).toContain('"errors"');
      expect(answer).toBe(await executed('/graphql', request(BY_ID, variables)));
    }
  });
});
