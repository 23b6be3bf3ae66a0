import type { ClientRequest } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { UploadPlaces } from '../../src/files/upload-places.ts';
import { type Door, openDoor } from '../support/door.ts';
import { code } from '../support/upload-worlds.ts';
import { beginUpload, someBytes, until, upload, uploadAnswer } from '../support/uploads.ts';

let door: Door;
const sent: ClientRequest[] = [];
afterEach(() => {
  for (const each of sent.splice(0)) each.destroy();
});

/** A gateway under the usual rate limit. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  door = await openDoor({ AUTH_MODE: 'passthrough', LINKS_RATE_LIMIT: '30', ...env });
}

const keyed = (key = door.sandbox.links.key) => ({ authorization: `Bearer ${key}` });

/** Begins an upload with this many bytes of a large file. */
function begin(bytes: number, headers: Readonly<Record<string, string>> = keyed()): ClientRequest {
  const request = beginUpload(door.url, '/files/a.bin', {
    ...headers,
    'content-length': 10_000_000,
  });
  sent.push(request);
  request.write(someBytes(bytes));
  return request;
}

const uploads = () =>
  door.sandbox.links.requests.filter(({ path }) => path.startsWith('/api/files/upload'));

/** What the budget of the key still has. */
async function remaining(): Promise<unknown> {
  const { data } = await door.ask(
    '{ rateLimit(upstream: LINKS) { remaining } }',
    door.sandbox.links.key,
  );
  return (data as { rateLimit: { remaining: number } }).rateLimit.remaining;
}

describe('An upload that trickles', () => {
  it('takes no slot before bytes flow, and is ended with 408', async () => {
    await start({ uploadMaxConcurrent: '15' });
    const trickling = Array.from({ length: 6 }, () => begin(1));
    const answers = Promise.all(trickling.map(uploadAnswer));
    for (let second = 0; second < 40; second += 8) {
      await door.clock.advance(8000);
      for (const each of trickling) if (each.writable) each.write('x');
      expect(await remaining()).toBe(30);
    }
    for (const answer of await answers) {
      expect([answer.status, code(answer)]).toEqual([408, 'BAD_USER_INPUT']);
    }
    expect(uploads()).toEqual([]);
  });

  it('after it has begun is cut off too', async () => {
    await start();
    const request = begin(100_000);
    const answered = uploadAnswer(request);
    await until(() => uploads().length === 1);
    for (let second = 0; second < 40; second += 8) {
      await door.clock.advance(8000);
      if (request.writable) request.write('x');
    }
    const answer = await answered;
    expect([answer.status, code(answer)]).toEqual([408, 'BAD_USER_INPUT']);
    await until(() => uploads()[0]?.status === 0);
  });

  it('has as long as it takes at a thousand bytes a second', async () => {
    await start();
    const request = beginUpload(door.url, '/files/a.bin', keyed());
    const answered = uploadAnswer(request);
    for (let second = 0; second < 120; second += 20) {
      request.write(someBytes(20_001));
      await door.clock.advance(20_000);
    }
    request.end();
    expect((await answered).status).toBe(201);
  });
});

describe('Uploads at a time', () => {
  it('are limited per caller, with 429 and Retry-After', async () => {
    await start({ uploadMaxConcurrent: '4' });
    begin(100_000);
    begin(100_000);
    await until(() => uploads().length === 2);
    const answer = await upload(door.url, '/files/b.bin', 'bytes', keyed());
    expect([answer.status, code(answer)]).toEqual([429, 'BUDGET_EXHAUSTED']);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.errors?.[0]?.extensions).toMatchObject({ retryAfterMs: 5000 });
    const [first] = sent;
    first?.destroy();
    await until(() => uploads().some(({ status }) => status === 0));
    const again = async () => (await upload(door.url, '/files/b.bin', 'bytes', keyed())).status;
    await until(async () => (await again()) === 201);
  });

  it('with made-up keys leave the others alone', async () => {
    await start();
    for (let count = 0; count < 60; count += 1) begin(100_000, keyed(`made-up-${count}`));
    await until(() => uploads().length === 60);
    const answer = await upload(door.url, '/files/b.bin', 'bytes', keyed());
    expect(answer.status).toBe(201);
  });
});

describe('Uploads with keys that the upstream has not accepted', () => {
  it('are few at a time, and leave the others their places', async () => {
    await start();
    const places = new UploadPlaces(8);
    const take = (n: number, accepted: boolean) =>
      places.take('caller', { name: `key ${n}`, accepted });
    const taken = Array.from({ length: 64 }, (_, n) => take(n, false));
    expect(() => take(64, false)).toThrow(/limit of concurrent uploads/);
    expect(() => take(65, true)).not.toThrow();
    taken[0]?.leave();
    taken[0]?.leave();
    expect(() => take(66, false)).not.toThrow();
    expect(() => take(67, false)).toThrow(/limit of concurrent uploads/);
  });
});

describe('The memory of all uploads under way', () => {
  it('is limited, and given back', async () => {
    await start();
    const places = new UploadPlaces(1000);
    const taken = Array.from({ length: 200 }, (_, n) =>
      places.take(`caller ${n}`, { name: `key ${n}`, accepted: true }),
    );
    const holding = taken.filter((place) => place.hold(1024 * 1024));
    expect(holding).toHaveLength(8);
    expect(taken[20]?.hold(1024)).toBe(false);
    holding[0]?.leave();
    holding[0]?.leave();
    expect(taken[20]?.hold(1024 * 1024)).toBe(true);
    expect(taken[21]?.hold(1024)).toBe(false);
  });
});

describe('An upload', () => {
  it('that turns out to be empty spends no call', async () => {
    await start();
    const request = beginUpload(door.url, '/files/a.bin', keyed());
    request.end();
    const answer = await uploadAnswer(request);
    expect([answer.status, code(answer)]).toEqual([400, 'BAD_USER_INPUT']);
    expect(door.calls()).toBe(0);
  });

  const operations = () =>
    door
      .log()
      .split('\n')
      .filter((line) => line.includes('"msg":"operation"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('leaves a line in the log and counts as an operation', async () => {
    await start({ metrics: 'open' });
    await upload(door.url, '/files/a.bin', 'bytes', { ...keyed(), 'x-request-id': 'mine' });
    await upload(door.url, '/files/noextension', 'bytes', keyed());
    await upload(door.url, '/files/a.bin', 'bytes');
    expect(operations()).toMatchObject([
      {
        requestId: 'mine',
        operation: 'PUT /files',
        type: 'upload',
        caller: expect.stringMatching(/^key-/),
        status: 201,
        outcome: 'ok',
        upstream: { calls: 1 },
      },
      { status: 400, outcome: 'failed', codes: ['BAD_USER_INPUT'], upstream: { calls: 0 } },
      { status: 401, outcome: 'failed', codes: ['UNAUTHENTICATED'], caller: null },
    ]);
    const { text } = await door.send('/metrics');
    expect(text).toContain('gateway_operations_total{type="upload",outcome="ok"} 1');
    expect(text).toContain('gateway_operations_total{type="upload",outcome="failed"} 2');
  });

  it('whose sender hangs up is canceled, and no fault of anybody', async () => {
    await start({ metrics: 'open' });
    const request = begin(100_000);
    await until(() => uploads().length === 1);
    request.destroy();
    await until(() => operations().length === 1);
    expect(operations()[0]).toMatchObject({ type: 'upload', outcome: 'canceled' });
    expect(operations()[0]).not.toHaveProperty('codes');
    const { text } = await door.send('/metrics');
    expect(text).toContain('gateway_operations_total{type="upload",outcome="canceled"} 1');
    expect(text).not.toMatch(/gateway_upstream_errors_total\{[^}]*files/);
    expect(door.log()).not.toContain('"level":"warn"');
  });
});
