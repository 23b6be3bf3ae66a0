import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { askRaw, type RawReply } from '../support/raw-reply.ts';

const LISTED = 'https://app.example';
const OTHER = 'http://localhost:5173';
const UNKNOWN = 'https://evil.example';
const BROWSER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/141.0.0.0',
  'accept-language': 'en-US,en;q=0.9',
  'sec-ch-ua': '"Chromium";v="141", "Not?A_Brand";v="8"',
  'sec-fetch-dest': 'empty',
  'sec-fetch-mode': 'cors',
};

let door: Door;
let own: string;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none', CORS_ORIGINS: `${LISTED},${OTHER}` });
  own = door.url;
});

type Headers = Readonly<Record<string, string | string[]>>;

let operations = 0;
/** An operation that was never asked before. */
function anotherQuery(): string {
  operations += 1;
  return `query Q${operations} { account { username } }`;
}

const send = (query: string, headers: Headers): Promise<RawReply> =>
  askRaw(`${door.url}/graphql?query=${encodeURIComponent(query)}`, {
    headers: { accept: '*/*', ...BROWSER, ...headers },
  });

/** All that an answer says, but for what is another each time. */
function visible({ headers, status, text: body }: RawReply): object {
  const others = ['x-request-id', 'date', 'content-length'];
  const rest = Object.entries(headers).filter(([name]) => !others.includes(name));
  return { status, rest: Object.fromEntries(rest), body: body.replace(/"extensions".*/, '') };
}

async function fromMemory(): Promise<number> {
  const { text: metrics } = await door.send('/metrics');
  return Number(/^gateway_remembered_answers_total (\d+)/m.exec(metrics)?.[1]);
}

const page = (origin: string, site: string): Headers => ({ origin, 'sec-fetch-site': site });

describe('A GET of a page that is not listed', () => {
  const foreign: [what: string, headers: () => Headers][] = [
    ['another port of the same host', () => ({ origin: own.replace(/\d+$/, '1') })],
    ['an opaque origin', () => ({ origin: 'null', 'sec-fetch-site': 'cross-site' })],
    ['an opaque origin over plain HTTP', () => ({ origin: 'null' })],
    ['a listed origin in capitals', () => page('HTTPS://APP.EXAMPLE', 'cross-site')],
    ['two origins', () => ({ origin: [LISTED, UNKNOWN] })],
    ['two origins, the other way', () => ({ origin: [UNKNOWN, LISTED] })],
    ['two marks', () => ({ 'sec-fetch-site': ['same-origin', 'cross-site'] })],
    ['a mark that says less than its origin', () => page(UNKNOWN, 'same-site')],
    ['an image', () => ({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })],
    ['an image over plain HTTP', () => ({})],
    ['an image of a page elsewhere', () => ({ referer: `${UNKNOWN}/page` })],
  ];

  it.each(foreign)('is refused, remembered or not, and spends nothing: %s', async (...given) => {
    const [, headers] = given;
    const query = anotherQuery();
    const atFirst = door.calls();
    const cold = await send(query, headers());
    expect([cold.status, door.calls()]).toEqual([403, atFirst]);
    for (let n = 0; n < 3; n += 1) {
      expect((await send(query, page(own, 'same-origin'))).status).toBe(200);
    }
    const before = await fromMemory();
    const warm = await send(query, headers());
    // Now all that it is made of is past its ttl.
    await door.clock.advance(600_000);
    const calls = door.calls();
    const stale = await send(query, headers());
    expect([visible(warm), visible(stale)]).toEqual([visible(cold), visible(cold)]);
    expect(warm.headers['access-control-allow-origin']).toBeUndefined();
    expect(await fromMemory()).toBe(before);
    expect(door.calls()).toBe(calls);
  });
});
