import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
  await door.ask('{ account { username } }');
});
afterAll(() => door.close());

const stringify = vi.spyOn(JSON, 'stringify');

/** How often the gateway serialises what looks like `data`, for an answer that it makes of cached reads. */
async function serialisations(ask: () => Promise<unknown>, data = /"username":"/): Promise<number> {
  stringify.mockClear();
  await ask();
  return stringify.mock.results.filter(({ value }) => data.test(String(value))).length;
}

const get = (query: string) => () => door.send(`/graphql?query=${encodeURIComponent(query)}`);
const post = (query: string) => () => door.ask(query);

describe('the data of an answer', () => {
  it.each([
    ['GET', get],
    ['POST', post],
  ])(
    'is serialised once, for its body, its tag and what is remembered of it: %s',
    async (name, as) => {
      const ask = as(`query ${name} { account { username } }`);
      const counts: number[] = [];
      for (let time = 1; time <= 3; time += 1) counts.push(await serialisations(ask));
      // Never seen, seen, remembered.
      expect(counts).toEqual([1, 1, 0]);
    },
  );

  it('is serialised once where it comes with errors', async () => {
    const query = '{ account { username } channel(id: "no id of a channel") { name } }';
    // All of it.
    expect(await serialisations(get(query), /"username":".*"channel":null/)).toBe(1);
    const { text } = await get(query)();
    expect(JSON.parse(text)).toMatchObject({
      data: { account: { username: expect.any(String) }, channel: null },
      errors: [{ path: ['channel'], extensions: { code: 'BAD_USER_INPUT' } }],
    });
  });
});
