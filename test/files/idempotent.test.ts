import { beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { World } from '../support/gateway.ts';
import { code, uploadWorlds } from '../support/upload-worlds.ts';
import { beginUpload, someBytes, until, upload, uploadAnswer } from '../support/uploads.ts';

const worlds = uploadWorlds({ uploadMaxBytes: '4000000' });
const { listed, received } = worlds;
let sandbox: Sandbox;
let world: World;
let url: string;
beforeEach(() => {
  ({ sandbox, world, url } = worlds.current());
});

const BYTES = someBytes(300_000);
const KEY = { 'idempotency-key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' };

/** What counts of an answer. */
async function told(sent: ReturnType<typeof upload>) {
  const answer = await sent;
  const { headers, id, shortUrl, status } = answer;
  return { status, code: code(answer), id, shortUrl, replayed: headers['idempotency-replayed'] };
}

const reused = { status: 422, code: 'IDEMPOTENCY_KEY_REUSED', replayed: undefined };

describe('PUT /files/:filename with a key', () => {
  it('stores the file once, and answers a retry as the first time', async () => {
    const { totalCount } = await listed();
    const first = await told(upload(url, '/files/a.bin?password=rye', BYTES, KEY));
    expect(first).toMatchObject({ status: 201, code: undefined, replayed: undefined });
    for (let again = 0; again < 2; again += 1) {
      const answer = await told(upload(url, '/files/a.bin?password=rye', BYTES, KEY));
      expect(answer).toEqual({ ...first, replayed: 'true' });
    }
    expect(received()).toHaveLength(1);
    expect((await listed()).totalCount).toBe(totalCount + 1);
  });

  it('does not read the rest of a file that it has stored', async () => {
    await upload(url, '/files/a.bin', BYTES, KEY);
    const sent = beginUpload(url, '/files/a.bin', { ...KEY, 'content-length': BYTES.length });
    sent.write(BYTES.subarray(0, 100_000));
    expect(await uploadAnswer(sent)).toMatchObject({ status: 201 });
    sent.destroy();
    expect(received()).toHaveLength(1);
  });

  it('is refused for other options, another length, and another beginning', async () => {
    expect((await told(upload(url, '/files/a.bin?name=a', BYTES, KEY))).status).toBe(201);
    const changed = Uint8Array.from(BYTES);
    changed[65_535] = (changed[65_535] ?? 0) + 1;
    for (const [target, body] of [
      ['/files/a.bin?name=b', BYTES],
      ['/files/a.bin?name=a&password=rye', BYTES],
      ['/files/b.bin?name=a', BYTES],
      ['/files/a.bin?name=a', BYTES.subarray(1)],
      ['/files/a.bin?name=a', BYTES.subarray(0, -1)],
      ['/files/a.bin?name=a', changed],
    ] as const) {
      expect(await told(upload(url, target, body, KEY)), target).toMatchObject(reused);
    }
    expect(received()).toHaveLength(1);
  });

  it('knows a small file by all of its bytes, whether its length was announced or not', async () => {
    const first = await told(upload(url, '/files/a.txt', 'one', KEY));
    const sent = beginUpload(url, '/files/a.txt', KEY);
    sent.write('on');
    sent.end('e');
    expect(await told(uploadAnswer(sent))).toEqual({ ...first, replayed: 'true' });
    expect(await told(upload(url, '/files/a.txt', 'two', KEY))).toMatchObject(reused);
  });

  it('has another key than a mutation', async () => {
    await upload(url, '/files/a.txt', 'x', KEY);
    const { errors } = await world.ask(
      'mutation { createChannel(input: { name: "a" }) { __typename } }',
      {},
      KEY,
    );
    expect(errors[0]?.extensions?.code).toBe(reused.code);
  });

  it('is executed by a retry after its sender was cut off', async () => {
    const { totalCount } = await listed();
    for (const length of [BYTES.length, null]) {
      const sent = beginUpload(url, '/files/a.bin', {
        ...KEY,
        ...(length !== null && { 'content-length': length }),
      });
      sent.write(BYTES.subarray(0, 100_000));
      const before = received().length;
      await until(() => received().length > before);
      sent.destroy();
      await until(() => received().every(({ status }) => status === 0));
    }
    const answer = await told(upload(url, '/files/a.bin', BYTES, KEY));
    expect(answer).toMatchObject({ status: 201, replayed: undefined });
    expect((await listed()).totalCount).toBe(totalCount + 1);
  });

  it('has a result although its sender has not waited for it', async () => {
    for (const length of [BYTES.length, null]) {
      const key = { 'idempotency-key': `of-${length}` };
      let answer = () => {};
      const held = new Promise<void>((resolve) => {
        answer = resolve;
      });
      sandbox.links.fault({ kind: 'hold', until: held, method: 'POST', times: 1 });
      const announced = length === null ? {} : { 'content-length': length };
      const sent = beginUpload(url, '/files/a.bin', { ...key, ...announced });
      sent.write(BYTES);
      sent.end();
      const before = received().length;
      await until(() => received()[before]?.body === BYTES.length);
      sent.destroy();
      answer();
      await until(() => received()[before]?.status === 200);
      const again = beginUpload(url, '/files/a.bin', { ...key, ...announced });
      again.write(BYTES);
      again.end();
      expect(await told(uploadAnswer(again))).toMatchObject({ status: 201, replayed: 'true' });
      expect(received()).toHaveLength(before + 1);
    }
  });

  it('does not use its key up if the options are invalid, or the file is empty', async () => {
    for (const [target, body] of [
      ['/files/a.txt?pasword=x', 'x'],
      ['/files/a.txt', ''],
    ] as const) {
      expect((await told(upload(url, target, body, KEY))).status).toBe(400);
    }
    expect((await told(upload(url, '/files/a.txt', 'x', KEY))).replayed).toBeUndefined();
    expect(received()).toHaveLength(1);
  });

  it.each(['', '"a b"', '"a", "b"', 'x'.repeat(256)])('refuses the key %j', async (key) => {
    const answer = await told(upload(url, '/files/a.txt', 'x', { 'idempotency-key': key }));
    expect(answer).toMatchObject({ status: 400, code: 'BAD_USER_INPUT' });
    expect(received()).toEqual([]);
  });

  it('is refused while another upload with the key is under way, with the time to retry', async () => {
    const sent = beginUpload(url, '/files/a.bin', { ...KEY, 'content-length': BYTES.length });
    sent.write(BYTES.subarray(0, 100_000));
    await until(() => received().length === 1);
    const wait = { prefer: 'wait=0' };
    const answer = await upload(url, '/files/a.bin', BYTES, { ...KEY, ...wait });
    expect([answer.status, code(answer)]).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    sent.end(BYTES.subarray(100_000));
    expect((await uploadAnswer(sent)).status).toBe(201);
    expect(await told(upload(url, '/files/a.bin', BYTES, KEY))).toMatchObject({
      status: 201,
      replayed: 'true',
    });
    expect(received()).toHaveLength(1);
  });
});
