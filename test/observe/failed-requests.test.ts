import { beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';
import { until } from '../support/uploads.ts';

let door: Door;
beforeEach(async () => {
  // Nothing looks for the effect of a write with a lost response.
  const env = { LINKS_TIMEOUT_MS: '10000', writeSettleMs: '20000' };
  door = await openDoor({ AUTH_MODE: 'none', ...env });
});

/** The lines of upstream requests that failed. */
const failures = () =>
  door
    .log()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'upstream failed');

const ask = (id: string, query: string) =>
  door.ask(query, null, { headers: { 'x-request-id': id } });

/** Reads that wait for the request of another. */
async function coalesced(count: number): Promise<void> {
  for (let found = -1; found < count; ) {
    const { text } = await door.send('/metrics');
    found = Number(/gateway_reads_total\{.*result="coalesced"\} (\d+)/.exec(text)?.[1] ?? 0);
  }
}

describe('the log line of a failed upstream request', () => {
  it('names the operation that it was sent for', async () => {
    door.sandbox.links.fault({ kind: 'error-500', times: 1 });
    await ask('search-me', 'query Mine { plans { id } }');
    expect(failures()).toMatchObject([
      { resource: 'plans', requestId: 'search-me', operation: 'Mine' },
    ]);
    expect(failures()[0]).not.toHaveProperty('sharedWith');
  });

  it('names all operations that waited for it, once each and up to ten', async () => {
    door.sandbox.links.fault({ kind: 'hang' });
    const first = ask('id-0', 'query First { plans { id } }');
    await until(() => door.calls() === 1);
    const others: Promise<unknown>[] = [];
    for (let n = 1; n <= 12; n += 1) {
      others.push(ask(`id-${n}`, `query Q${n} { a: plans { id } b: plans { name } }`));
      await coalesced(n);
    }
    await door.clock.advance(10_000);
    await Promise.all([first, ...others]);
    const ids = Array.from({ length: 9 }, (_, n) => `id-${n + 1}`);
    expect(failures()).toMatchObject([
      { requestId: 'id-0', operation: 'First', sharedWith: ids, operations: 13 },
    ]);
  });

  it('names a write, an upload and a live query', async () => {
    door.sandbox.links.fault({ kind: 'error-500' });
    await ask('a-write', 'mutation { deletePixel(id: "1") { __typename } }');
    await door.send('/files/a.txt', {
      method: 'PUT',
      body: 'text',
      headers: { 'x-request-id': 'an-upload' },
    });
    LiveViewer.open(door.url, {
      query: 'query Watched @live { plans { id } }',
      headers: { 'x-request-id': 'a-viewer' },
    });
    await until(() => failures().length === 3);
    expect(failures().map(({ operation, requestId }) => [operation, requestId])).toEqual([
      [null, 'a-write'],
      ['PUT /files', 'an-upload'],
      ['Watched', 'a-viewer'],
    ]);
  });
});
