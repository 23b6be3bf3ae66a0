import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { formatTokenFile, type KnownToken } from '../../src/auth/token-file.ts';
import { type Door, openDoor } from '../support/door.ts';
import { tempFolder } from '../support/folder.ts';

const folder = tempFolder();
const file = join(folder, 'tokens.json');

const known = (name: string, token: string, more: Partial<KnownToken> = {}): KnownToken => ({
  name,
  role: 'editor',
  sha256: hash('sha256', token),
  ...more,
});
const keep = (...tokens: KnownToken[]): void => writeFileSync(file, formatTokenFile(tokens));

const query = '{ account { username } }';
const write = 'mutation { createCampaign(input: { name: "x" }) { __typename } }';

describe('a token', () => {
  let door: Door;
  beforeAll(async () => {
    keep(
      known('web', 'the web token'.replaceAll(' ', '-')),
      known('short', 'short-token', { expires: '2030-01-01T00:10:00Z' }),
      known('reader', 'reader-token', { role: 'viewer' }),
    );
    door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
  });

  it('of the file lets its bearer in', async () => {
    const { status, data } = await door.ask(query, 'the-web-token');
    expect([status, data]).toEqual([200, { account: { username: expect.any(String) } }]);
  });

  it.each([
    ['no header', undefined, 'Bearer realm="gateway"'],
    ['an unknown token', 'Bearer nobody', 'Bearer realm="gateway", error="invalid_token"'],
    ['another scheme', 'Basic dGhlOnRva2Vu', 'Bearer realm="gateway", error="invalid_token"'],
    [
      'the hash in place of the token',
      `Bearer ${hash('sha256', 'the-web-token')}`,
      'Bearer realm="gateway", error="invalid_token"',
    ],
  ])(
    'is wanted: %s is refused with 401, without an upstream call',
    async (_, header, challenge) => {
      const before = door.calls();
      const reply = await door.ask(
        query,
        null,
        header ? { headers: { authorization: header } } : {},
      );
      expect([reply.status, reply.code]).toEqual([401, 'UNAUTHENTICATED']);
      expect(reply.headers.get('www-authenticate')).toBe(challenge);
      expect(door.calls()).toBe(before);
    },
  );

  it.each([
    ['Bearer the-web-token', 200],
    ['bearer the-web-token', 200],
    ['BEARER   the-web-token  ', 200],
    ['Bearerthe-web-token', 401],
    ['xBearer the-web-token', 401],
    ['Basic Bearer the-web-token', 401],
    ['Token the-web-token', 401],
    ['Bearer the-web-token and-more', 401],
    ['Bearer the-web-token, Bearer the-web-token', 401],
    ['Bearer "the-web-token"', 401],
    ['Bearer the-web-toke', 401],
    ['Bearer the-web-tokens', 401],
    ['Bearer', 401],
    ['the-web-token', 401],
  ])('is the whole of the header behind its scheme: %j is %i', async (authorization, status) => {
    const reply = await door.ask(query, null, { headers: { authorization } });
    expect(reply.status).toBe(status);
  });

  it('is wanted before the request is read', async () => {
    const reply = await door.ask('{ this is no query');
    expect(reply.code).toBe('UNAUTHENTICATED');
  });

  it('works until it expires, and not at that moment any more', async () => {
    await door.clock.advance(10 * 60_000 - 1);
    expect((await door.ask(query, 'short-token')).status).toBe(200);
    await door.clock.advance(1);
    const { status, errors } = await door.ask(query, 'short-token');
    expect([status, errors[0]?.message]).toEqual([401, 'The token has expired.']);
  });

  it('is wanted for a file as well, and one of an editor', async () => {
    const put = (authorization?: string) =>
      door.send('/files/a.txt', {
        method: 'PUT',
        body: 'hello',
        headers: authorization ? { authorization } : {},
      });
    const refused = await put();
    expect([refused.status, refused.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(refused.headers.get('www-authenticate')).toContain('Bearer');
    const before = door.calls();
    const { status, code } = await put('Bearer reader-token');
    expect([status, code, door.calls()]).toEqual([403, 'FORBIDDEN', before]);
    expect((await put('Bearer the-web-token')).status).toBe(201);
  });

  it('is not wanted by the probes, nor for the page of GraphiQL', async () => {
    expect((await door.send('/livez')).status).toBe(200);
    expect((await door.send('/readyz')).status).toBe(200);
    const page = await door.send('/graphql', { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
  });
});

describe('the file of tokens', () => {
  const open = async (): Promise<Door> => {
    keep(known('a', 'token-a'));
    const door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file });
    return door;
  };
  const status = async (door: Door, token: string) => (await door.ask(query, token)).status;
  /** Lets the gateway look at the file, often enough to see that it rests, and find the old token valid. */
  const looks = async (door: Door): Promise<void> => {
    for (let look = 0; look < 3; look += 1) {
      await door.clock.advance(1000);
      expect(await status(door, 'token-a')).toBe(200);
    }
  };
  const expectReplaced = async (door: Door): Promise<void> => {
    expect([await status(door, 'token-b'), await status(door, 'token-a')]).toEqual([200, 401]);
  };

  it('is read again when it changes, at the earliest a second after the last look', async () => {
    const door = await open();
    keep(known('other', 'token-b'));
    expect((await door.ask(query, 'token-a')).status).toBe(200);
    await door.clock.advance(1000);
    await expectReplaced(door);
  });

  it('is read again when it was written in place, with equal size and date', async () => {
    const door = await open();
    const { atime, mtime, size } = statSync(file);
    await looks(door);
    keep(known('b', 'token-b'));
    utimesSync(file, atime, mtime);
    expect(statSync(file).size).toBe(size);
    await door.clock.advance(1000);
    await expectReplaced(door);
  });

  it('is read again when it was written twice in one tick of the clock of the file system', async () => {
    const door = await open();
    // One of these rounds fits into a tick, if the clock is as coarse as most are.
    for (let round = 0; round < 20; round += 1) {
      await door.clock.advance(1000);
      keep(known('a', 'token-a'));
      expect(await status(door, 'token-a')).toBe(200);
      keep(known('b', 'token-b'));
      await door.clock.advance(1000);
      await expectReplaced(door);
    }
  });

  it('is read again when another file has taken its name', async () => {
    const door = await open();
    const next = join(folder, 'next.json');
    writeFileSync(next, formatTokenFile([known('b', 'token-b')]));
    renameSync(next, file);
    await door.clock.advance(1000);
    await expectReplaced(door);
  });

  it('is read again after a partial read, without a log line', async () => {
    const door = await open();
    const whole = formatTokenFile([known('a', 'token-a'), known('b', 'token-b')]);
    writeFileSync(file, whole.slice(0, 90));
    await door.clock.advance(1000);
    expect((await door.ask(query, 'token-a')).status).toBe(200);
    // The rest of it does not have to change what the file looks like from outside.
    const { atime, mtime } = statSync(file);
    writeFileSync(file, whole);
    utimesSync(file, atime, mtime);
    await door.clock.advance(1000);
    expect((await door.ask(query, 'token-b')).status).toBe(200);
    expect(door.log()).not.toContain('AUTH_TOKENS_FILE');
  });

  it.each([
    ['broken', '{"tokens": ['],
    ['of another shape', '{"tokens": [{"name": "a"}]}'],
    ['with an expiry that is no date', formatTokenFile([known('a', 'x', { expires: 'soon' })])],
    ['with an unknown class', formatTokenFile([known('a', 'x', { class: 'agnet' })])],
  ])('keeps the old tokens when the new one is %s, and complains once', async (_, text) => {
    const door = await open();
    writeFileSync(file, text);
    await looks(door);
    expect(door.log().match(/AUTH_TOKENS_FILE cannot be used/g)).toHaveLength(1);
  });

  it('complains again where the file was mended in between, or is broken in another way', async () => {
    const door = await open();
    const good = formatTokenFile([known('a', 'token-a')]);
    const texts = ['{', '{"tokens": 1}', '{', good, '{'];
    for (const [at, complaints] of [1, 2, 3, 3, 4].entries()) {
      writeFileSync(file, texts[at] ?? '');
      await looks(door);
      expect(door.log().match(/AUTH_TOKENS_FILE cannot be used: [^.]*/g)).toHaveLength(complaints);
    }
  });

  it.each([
    ['a pipe', () => void execFileSync('mkfifo', [file]), 'it is not a regular file'],
    ['a device', () => symlinkSync('/dev/zero', file), 'it is not a regular file'],
    [
      'larger than any such file',
      () => {
        keep(known('b', 'token-b'));
        truncateSync(file, 400_000_000);
      },
      'it is larger than 1048576 bytes',
    ],
  ])('is not read where it has become %s, and the old tokens stay', async (_, make, why) => {
    const door = await open();
    rmSync(file);
    make();
    await looks(door);
    expect(door.log().split(`AUTH_TOKENS_FILE cannot be used: ${why}`)).toHaveLength(2);
    rmSync(file);
  });

  it('keeps the old tokens when it is gone, and takes the new one when it is back', async () => {
    const door = await open();
    rmSync(file);
    await looks(door);
    expect(door.log().match(/ENOENT/g)).toHaveLength(1);
    keep(known('b', 'token-b'));
    await door.clock.advance(1000);
    expect((await door.ask(query, 'token-a')).status).toBe(401);
    expect((await door.ask(query, 'token-b')).status).toBe(200);
  });

  it('may hold thousands, each with its own name and role', async () => {
    const all = Array.from({ length: 5000 }, (_, n) =>
      known(`name-${n}`, `token-${n}`, { role: n % 2 === 0 ? 'viewer' : 'editor' }),
    );
    const door = await open();
    keep(...all);
    await door.clock.advance(1000);
    for (const n of [0, 1, 2499, 2500, 4998, 4999]) {
      const { code } = await door.ask(write, `token-${n}`);
      expect([n, code]).toEqual([n, n % 2 === 0 ? 'FORBIDDEN' : undefined]);
      expect(door.log()).toContain(`"caller":"name-${n}"`);
    }
    expect((await door.ask(query, 'token-5000')).status).toBe(401);
  });

  it('gives each token its role', async () => {
    const door = await open();
    keep(known('reader', 'token-v', { role: 'viewer' }), known('writer', 'token-e'));
    await door.clock.advance(1000);
    expect((await door.ask(write, 'token-v')).code).toBe('FORBIDDEN');
    expect((await door.ask(write, 'token-e')).data).toEqual({
      createCampaign: { __typename: 'Campaign' },
    });
  });
});
