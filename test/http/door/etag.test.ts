import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'true' });
});

describe.each(['/graphql?query={account{username}}', '/schema.graphql'])(
  'If-None-Match at %s',
  (path) => {
    const ask = async (tags: string): Promise<number> =>
      (await door.send(path, { headers: { 'if-none-match': tags } })).status;

    it('is answered 304 where it names what there is, and 200 where it does not', async () => {
      const tag = (await door.send(path)).headers.get('etag') ?? '';
      const strong = tag.replace('W/', '');
      expect(tag).toMatch(/^W\/"[\w-]{27}"$/);
      // Again and again: cold and remembered ones are the same.
      for (let n = 0; n < 3; n += 1) {
        for (const same of [tag, strong, '*', ' * ', `"a", ${tag}`, `W/"a",${strong} , "b"`]) {
          expect([same, await ask(same)]).toEqual([same, 304]);
        }
        for (const other of ['"a"', 'W/"a", "*"', `${tag}x`, strong.replaceAll('"', ''), '']) {
          expect([other, await ask(other)]).toEqual([other, 200]);
        }
      }
    });
  },
);
