import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { code } from '../../support/upload-worlds.ts';
import { beginUpload, someBytes, until, upload } from '../../support/uploads.ts';

/** More than opens a circuit breaker. */
const MANY = 6;

/** What a caller does, over and over, to the link API that everybody uses. */
async function repeat(act: (count: number) => Promise<unknown>): Promise<void> {
  for (let count = 0; count < MANY; count += 1) await act(count);
}

/** Others read what is in no cache, write, and find the API in order. */
async function expectOthersServed(door: Door): Promise<void> {
  const read = await door.ask('{ account { username } pixels { totalCount } }');
  expect(read.errors).toEqual([]);
  const written = await door.ask(
    'mutation { createCampaign(input: { name: "Spring" }) { __typename } }',
  );
  expect(written.data).toEqual({ createCampaign: { __typename: 'Campaign' } });
  const { degraded } = JSON.parse((await door.send('/readyz')).text) as { degraded: unknown[] };
  expect(degraded).toEqual([]);
}

async function withDoor(work: (door: Door) => Promise<void>): Promise<void> {
  const door = await openDoor({ AUTH_MODE: 'none' });
  try {
    await work(door);
    await expectOthersServed(door);
  } finally {
    await door.close();
  }
}

const uploads = (door: Door) =>
  door.sandbox.links.requests.filter(({ path }) => path.startsWith('/api/files/upload'));

describe('What one caller does wrong leaves the API to the others:', () => {
  it('uploads that their sender breaks off', () =>
    withDoor((door) =>
      repeat(async (count) => {
        const sent = beginUpload(door.url, '/files/a.bin', { 'content-length': 1_000_000 });
        sent.write(someBytes(300_000));
        await until(() => uploads(door).length === count + 1);
        sent.destroy();
        await until(() => uploads(door)[count]?.status === 0);
      }),
    ));

  it('uploads that are too large for the upstream', () =>
    withDoor(async (door) => {
      const restore = door.sandbox.links.fault({
        kind: 'html',
        status: 413,
        path: /^\/api\/files\/upload/,
      });
      await repeat(async () => {
        const answer = await upload(door.url, '/files/a.bin', 'bytes');
        expect([answer.status, code(answer)]).toEqual([422, 'UPSTREAM_REJECTED']);
        expect(answer.errors?.[0]?.message).toBe('The request is too large.');
      });
      restore();
    }));

  it('writes of several kinds that are answered 413', () =>
    withDoor(async (door) => {
      const restore = door.sandbox.links.fault({ kind: 'html', status: 413, method: 'POST' });
      await repeat(async (count) => {
        const answer = await door.ask(
          count % 2 === 0
            ? 'mutation { created: createCampaign(input: { name: "x" }) { __typename ... on Rejected { message } } }'
            : 'mutation { created: createChannel(input: { name: "x" }) { __typename ... on Rejected { message } } }',
        );
        expect(answer.data?.['created']).toEqual({
          __typename: 'Rejected',
          message: 'The request is too large.',
        });
      });
      restore();
    }));

  it('a page of HTML in the place of rows of one kind', () =>
    withDoor((door) => {
      door.sandbox.links.fault({ kind: 'html', status: 404, path: /^\/api\/qr\/\d+$/ });
      return repeat(async (count) => {
        const { errors } = await door.ask(
          `{ qrCode(id: ${301 + (count % 2)}) { statistics { clicks } } }`,
        );
        expect(errors[0]?.extensions?.code).toBe('UPSTREAM_INVALID_RESPONSE');
      });
    }));

  it('one row that is never answered', () =>
    withDoor((door) => {
      door.sandbox.links.fault({ kind: 'hang', path: '/api/qr/302' });
      return repeat(async (count) => {
        const asked = door.ask('{ qrCode(id: 302) { statistics { clicks } } }');
        const hanging = () =>
          door.sandbox.links.requests.filter(({ path }) => path === '/api/qr/302').length;
        await until(() => hanging() === count + 1);
        await door.clock.advance(10_000);
        expect((await asked).errors[0]?.extensions?.code).toBe('UPSTREAM_TIMEOUT');
      });
    }));

  it('uploads that bring no byte, or fewer than they say', () =>
    withDoor((door) =>
      repeat(async () => {
        const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
        socket.end('PUT /files/a.bin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf');
        await new Promise((resolve) => {
          socket.once('close', resolve).resume();
        });
      }),
    ));
});

describe('An outage that is over', () => {
  it('is found to be over although an upload trickles in the meantime', async () => {
    const door = await openDoor({ AUTH_MODE: 'none' });
    const restore = door.sandbox.links.fault({ kind: 'error-500' });
    await door.ask(
      '{ account { id } domains { totalCount } pixels { totalCount } files { totalCount } users { id } channels { totalCount } }',
    );
    expect((await door.ask('{ plans { id } }')).code).toBe('UPSTREAM_UNAVAILABLE');
    restore();
    await door.clock.advance(1000);
    const sent = beginUpload(door.url, '/files/a.bin', { 'content-length': 1_000_000 });
    sent.write(someBytes(300_000));
    await until(() => uploads(door).length === 1);
    const { errors } = await door.ask('{ plans { id } }');
    sent.destroy();
    await door.close();
    expect(errors).toEqual([]);
  });
});
