import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Door, openDoor, type Reply } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';

const LIVE = 'query @live { account { username } }';

let door: Door;

/** What the header says and what the error says, in milliseconds. */
function times({ errors, headers }: Reply) {
  return [Number(headers.get('retry-after')) * 1000, errors[0]?.extensions?.['retryAfterMs']];
}

/** A token as an identity provider gives it, for unknown keys. */
function tokenOf(claims: object): string {
  const [head, body] = [{ alg: 'RS256', kid: 'gone' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = createHmac('sha256', 'x').update(`${head}.${body}`).digest('base64url');
  return `${head}.${body}.${signature}`;
}

describe('Retry-After is the time of the next attempt, if one is known,', () => {
  it.each([
    ['the caller has', { liveMaxStreamsPerCaller: '1' }],
    ['there are', { liveMaxStreams: '1' }],
  ])('where %s as many live queries as may be', async (_, env) => {
    door = await openDoor({ AUTH_MODE: 'none', ...env });
    await LiveViewer.begun(door.url, { query: LIVE });
    const refused = await door.ask(LIVE, null, {
      headers: { accept: 'application/json, text/event-stream' },
    });
    expect([refused.status, refused.code]).toEqual([429, 'TOO_MANY_STREAMS']);
    expect(times(refused)).toEqual([15_000, 15_000]);
    const wrong = await door.ask('{ nothing }');
    expect([wrong.status, wrong.headers.get('retry-after')]).toEqual([400, null]);
    const viewer = await LiveViewer.open(door.url, { query: LIVE }).untilEnded();
    expect([viewer.status, viewer.headers['retry-after']]).toEqual([429, '15']);
  });

  it('where the keys of an identity provider cannot be had', async () => {
    door = await openDoor({
      AUTH_MODE: 'jwt',
      AUTH_JWT_JWKS_URL: 'http://127.0.0.1:9/keys',
      AUTH_JWT_ISSUER: 'test',
      AUTH_JWT_AUDIENCE: 'test',
    });
    const token = tokenOf({ sub: 'a', iss: 'test', aud: 'test', exp: 4_000_000_000 });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const refused = await door.ask('{ account { username } }', token);
      expect([refused.status, refused.code]).toEqual([503, 'UPSTREAM_UNAVAILABLE']);
      expect(times(refused)).toEqual([1000, 1000]);
    }
  });
});
