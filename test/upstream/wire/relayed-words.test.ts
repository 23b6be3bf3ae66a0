import { describe, expect, test } from 'vitest';
import { relayable } from '../../../src/upstream/wire/relayed-words.ts';

const relay = (sentence: string, sent = '', baseUrl = 'https://go.example.com/s'): string =>
  relayable(sentence, { baseUrl, sent: () => sent });

describe('a sentence of an upstream', () => {
  test.each([
    ['See https://go.example.com/s/admin?token=abc.', 'See [address].'],
    ['Look at (http://10.0.0.7:8080/x), please', 'Look at ([address]), please'],
    ['Look at http:\\/\\/10.0.0.7\\/x now', 'Look at [address] now'],
    ['请访问https://x.y/z', '请访问[address]'],
    ['GO.example.COM/s says no', '[address] says no'],
    ['Connection to 10.1.2.3 refused', 'Connection to [address] refused'],
    ['Connection refused (db:3306)', 'Connection refused ([address])'],
    ['No route to [fe80::1:2:3]', 'No route to [[address]]'],
    ['links.internal.corp is away', '[address] is away'],
    ['Error in /var/www/html/app.php on line 7', 'Error in [address] on line 7'],
    ['Error in C:\\www\\app.php', 'Error in [address]'],
    ['Go to //cdn.x/y or www.x.y', 'Go to [address] or [address]'],
    ['Bearer abcdefgh12 is expired', 'Bearer [hidden] is expired'],
    ['api_key=abc is wrong', 'api_key=[hidden] is wrong'],
    ['"apikey":"abc" is wrong', '"apikey":[hidden]" is wrong'],
    ['The user 0a1b2c3d4e5f6a7b8c9d exists', 'The user [hidden] exists'],
    ['Use eyJhbGciOi.eyJzdWIi.c2ln1234 now', 'Use [hidden] now'],
  ])('%j is relayed as %j', (sentence, shown) => {
    expect(relay(sentence)).toBe(shown);
  });

  test.each([
    'The slug is already taken',
    'The password must be at least 5 characters.',
    'password: must be longer; email: is invalid',
    'The key is already in use, at 12:30 on 01/02/2026',
    'Only gif/png files, and/or less than 5 MB (v1.2.3)',
    'The email someone@example.com is taken',
    'Das Schlagwort „Straßenverkehrsordnungswidrigkeit“ ist vergeben',
  ])('%j is relayed as it is', (sentence) => {
    expect(relay(sentence)).toBe(sentence);
  });

  test('repeats what the caller has sent, but for the upstream’s own name', () => {
    const slug = 'summer-sale-2026-shoes';
    expect(relay(`The slug ${slug} is taken`, slug)).toBe(`The slug ${slug} is taken`);
    const url = 'https://shop.example.org/a';
    expect(relay(`${url} is blocked.`, url)).toBe(`${url} is blocked.`);
    const own = 'https://go.example.com/s/x';
    expect(relay(`${own} is blocked.`, own)).toBe('[address] is blocked.');
  });

  test('may speak of links where a machine is called so', () => {
    expect(relay('Too many links', '', 'http://links')).toBe('Too many links');
    expect(relay('links:8080 is away', 'links:8080', 'http://links:8080')).toBe(
      '[address] is away',
    );
  });

  test('takes no time, whatever is in it', () => {
    const worst = [
      'a'.repeat(300),
      '"'.repeat(300),
      'a.'.repeat(150),
      '/a'.repeat(150),
      ':'.repeat(300),
    ];
    for (const word of worst) expect(relay(word).length).toBeLessThanOrEqual(300);
  });
});
