import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { code, uploadWorlds } from '../support/upload-worlds.ts';
import { beginUpload, someBytes, until, upload, uploadAnswer } from '../support/uploads.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const worlds = uploadWorlds({ uploadMaxBytes: '4000000' });
const { listed, open, received } = worlds;
let sandbox: Sandbox;
let url: string;
beforeEach(() => {
  ({ sandbox, url } = worlds.current());
});

const BYTES = someBytes(300_000);

describe('an upload that is interrupted', () => {
  it('by its sender is cut off upstream too, not ended', async () => {
    const before = await listed();
    const sent = beginUpload(url, '/files/a.bin');
    sent.write(BYTES);
    await until(() => received().length === 1);
    sent.destroy();
    // Its slot is free again: the write is over for the gateway.
    expect((await listed()).totalCount).toBe(before.totalCount);
    expect(received()).toMatchObject([{ status: 0 }]);
  });

  it('short of its announced length is cut off upstream too', async () => {
    const before = await listed();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      `PUT /files/a.bin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n${'half'.repeat(25_000)}`,
    );
    await until(() => received().length === 1);
    socket.end();
    await text(socket);
    expect((await listed()).totalCount).toBe(before.totalCount);
    expect(received()).toMatchObject([{ status: 0 }]);
  });

  it('by silence is given up after half a minute', async () => {
    const clock = new VirtualClock();
    const { world, url } = await open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
    const before = await listed(world);
    const sent = beginUpload(url, '/files/a.bin', { 'content-length': 2 * BYTES.length });
    const answered = uploadAnswer(sent);
    sent.write(BYTES);
    await until(() => received().length === 1);
    await clock.advance(20_000);
    sent.write(BYTES.subarray(0, 1000));
    await clock.advance(29_000);
    await clock.advance(2_000);
    const answer = await answered;
    expect([answer.status, code(answer)]).toEqual([408, 'BAD_USER_INPUT']);
    expect(received()).toMatchObject([{ status: 0 }]);
    expect((await listed(world)).totalCount).toBe(before.totalCount);
    sent.destroy();
  });

  it('by the upstream has an unknown outcome', async () => {
    sandbox.links.fault({ kind: 'drop', applied: true, times: 1 });
    const answer = await upload(url, '/files/lost.bin', BYTES);
    expect([answer.status, code(answer)]).toEqual([500, 'OUTCOME_UNKNOWN']);
    expect(answer.errors?.[0]?.extensions).toMatchObject({ check: 'Query.files' });
    expect(received()).toHaveLength(1);
    expect((await listed()).nodes[0]).toMatchObject({ name: 'lost.bin' });
  });

  it('before it has begun has not happened', async () => {
    const { url } = await open({ env: { LINKS_BASE_URL: 'http://127.0.0.1:1' } });
    const answer = await upload(url, '/files/a.bin', BYTES);
    expect([answer.status, code(answer)]).toEqual([503, 'UPSTREAM_UNAVAILABLE']);
  });
});

describe('the time of an upload', () => {
  it('may be longer than that of a request, as long as bytes come', async () => {
    const clock = new VirtualClock();
    const { url } = await open({ clock });
    const piece = BYTES.subarray(0, 80_000);
    const sent = beginUpload(url, '/files/a.bin', { 'content-length': 3 * piece.length });
    const answered = uploadAnswer(sent);
    for (let count = 0; count < 2; count += 1) {
      sent.write(piece);
      await until(() => received().length === 1);
      await clock.advance(12_000);
    }
    sent.end(piece);
    expect((await answered).status).toBe(201);
  });

  it('ends a while after its last byte, with an unknown outcome', async () => {
    const clock = new VirtualClock();
    const { url } = await open({ clock });
    sandbox.links.fault({ kind: 'hang', times: 1 });
    const answered = upload(url, '/files/a.bin', BYTES);
    await until(() => received()[0]?.fault === 'hang');
    await clock.advance(10_000);
    const answer = await answered;
    expect([answer.status, code(answer)]).toEqual([500, 'OUTCOME_UNKNOWN']);
  });
});
