import { once } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { PLENTY, type Row, type World } from '../support/gateway.ts';
import { code, uploadWorlds } from '../support/upload-worlds.ts';
import {
  asTimePasses,
  beginUpload,
  someBytes,
  until,
  upload,
  uploadAnswer,
} from '../support/uploads.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const worlds = uploadWorlds({ uploadMaxBytes: '4000000' });
const { open, received } = worlds;
let sandbox: Sandbox;
let url: string;
beforeEach(() => {
  ({ sandbox, url } = worlds.current());
});

const BYTES = someBytes(300_000);

describe('the budget of an upload', () => {
  /** A gateway that may make one request a minute, and has made it. */
  async function openSpent(
    env: Readonly<Record<string, string>> = {},
  ): Promise<{ world: World; url: string; clock: VirtualClock }> {
    const clock = new VirtualClock();
    // Whose headers do not say that there is more.
    const limit = { requests: PLENTY, resetFormat: 'none' as const };
    const opening = await open({
      clock,
      sandbox: { limit },
      env: { LINKS_RATE_LIMIT: '1', ...env },
    });
    await opening.world.data('{ account { id } }');
    return { ...opening, clock };
  }

  const patient = {
    'content-length': BYTES.length,
    expect: '100-continue',
    prefer: 'wait=100',
  };

  it('is waited for with no more than the first bytes read, as long as its sender wants', async () => {
    const { url, world, clock } = await openSpent({ MAX_WAIT_MS: '100000' });
    const large = someBytes(3_900_000);
    const sent = beginUpload(url, '/files/a.bin', { ...patient, 'content-length': large.length });
    sent.on('continue', () => sent.end(large));
    const answered = uploadAnswer(sent);
    sent.flushHeaders();
    await once(sent, 'continue');
    await clock.advance(59_000);
    expect(received(world.sandbox)).toEqual([]);
    await clock.advance(2_000);
    expect((await answered).status).toBe(201);
  });

  it('is told to be spent, and until when, without a byte of the body', async () => {
    const { url, world } = await openSpent();
    const { prefer: _, ...head } = patient;
    const sent = beginUpload(url, '/files/a.bin', head);
    let asked = false;
    sent.on('continue', () => {
      asked = true;
    });
    sent.flushHeaders();
    const answer = await uploadAnswer(sent);
    expect([answer.status, code(answer)]).toEqual([503, 'BUDGET_EXHAUSTED']);
    expect(answer.headers['retry-after']).toBe('60');
    expect(answer.errors?.[0]?.extensions).toMatchObject({ retryAfterMs: 60_000 });
    expect(asked).toBe(false);
    expect(received(world.sandbox)).toEqual([]);
  });

  it('is not spent on a sender who has left', async () => {
    const { url, world, clock } = await openSpent({ MAX_WAIT_MS: '100000' });
    const query = '{ rateLimit(upstream: LINKS) { queued } }';
    const queued = async (): Promise<unknown> =>
      (await world.data<{ rateLimit: Row }>(query)).rateLimit['queued'];
    const sent = beginUpload(url, '/files/a.bin', patient);
    sent.on('continue', () => sent.write(BYTES.subarray(0, 66_000)));
    sent.flushHeaders();
    await until(async () => (await queued()) === 1);
    sent.destroy();
    await until(async () => (await queued()) === 0);
    await clock.advance(120_000);
    expect(received(world.sandbox)).toEqual([]);
  });

  it.each(['refuse-429', 'refuse-200'] as const)(
    'that the upstream finds spent (%s) lets a small file go again',
    async (kind) => {
      const clock = new VirtualClock();
      const { url } = await open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
      sandbox.links.fault({ kind, retryAfter: 2, times: 1 });
      const uploading = upload(url, '/files/a.bin', BYTES);
      await until(() => received()[0]?.fault !== undefined);
      const answer = await asTimePasses(clock, uploading);
      expect(answer.status).toBe(201);
      expect(received()).toMatchObject([{ refused: true }, { refused: false }]);
      const download = await fetch(String(answer.shortUrl));
      expect(new Uint8Array(await download.arrayBuffer())).toEqual(BYTES);
    },
  );

  it('that the upstream finds spent sends back a large file, which has gone by', async () => {
    const clock = new VirtualClock();
    const { url } = await open({ clock, env: { LINKS_TIMEOUT_MS: '86400000' } });
    sandbox.links.fault({ kind: 'refuse-429', retryAfter: 7, times: 1 });
    const answer = await upload(url, '/files/a.bin', someBytes(3_000_000));
    expect([answer.status, code(answer)]).toEqual([503, 'BUDGET_EXHAUSTED']);
    const availableAt = new Date(clock.wall() + 7000).toISOString();
    expect(answer.errors?.[0]?.extensions).toMatchObject({ retryAfterMs: 7000, availableAt });
    expect(answer.headers['retry-after']).toBe('7');
    expect(received()).toHaveLength(1);
  });

  it('sends it back for three windows at most, whatever the upstream asks for', async () => {
    sandbox.links.fault({ kind: 'refuse-429', retryAfter: 60_000, times: 1 });
    const answer = await upload(url, '/files/a.bin', someBytes(3_000_000));
    expect(answer.headers['retry-after']).toBe('180');
  });
});
