import { beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/gateway.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

describe('how answers are delivered', () => {
  const clock = new VirtualClock();
  let world: World;

  beforeAll(async () => {
    world = await startWorld({ clock, env: { 'ttl.account': '60000' } });
  });

  const send = (query: string, init: { method?: 'POST'; headers?: Record<string, string> } = {}) =>
    world.gateway.fetch(
      init.method === 'POST'
        ? new Request('http://gateway/graphql', {
            ...init,
            headers: { 'content-type': 'application/json', ...init.headers },
            body: JSON.stringify({ query }),
          })
        : new Request(`http://gateway/graphql?query=${encodeURIComponent(query)}`, init),
    );

  it('reports with a GET answer how old it is, and that it is private', async () => {
    await send('{ account { email } }');
    await clock.advance(7_300);
    const answer = await send('{ account { email } }');
    expect(answer.headers.get('age')).toBe('7');
    expect(answer.headers.get('cache-control')).toContain('private');
  });

  it('distinguishes answers by their errors as well', async () => {
    const tags: (string | null)[] = [];
    for (const first of [501, 502]) {
      const answer = await send(
        `{ account { username } channels(first: ${first}) { totalCount } }`,
      );
      expect(await answer.json()).toMatchObject({ data: { channels: null }, errors: [{}] });
      tags.push(answer.headers.get('etag'));
    }
    expect(tags[0]).toMatch(/^W\//);
    expect(tags[0]).not.toBe(tags[1]);
  });

  it('takes the host of its address for its own, where no socket names one', async () => {
    for (const [headers, status] of [
      [{ origin: 'http://gateway' }, 200],
      [{ origin: 'http://evil.example' }, 403],
      [{ origin: 'http://evil.example', host: 'evil.example' }, 200],
    ] as const) {
      expect((await send('{ __typename }', { headers })).status).toBe(status);
    }
  });

  it('lets nothing keep the answer to a POST', async () => {
    const answer = await send('{ account { email } }', { method: 'POST' });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('etag')).toBeNull();
  });

  it('delivers a deferred part later, and the receipt with the last one', async () => {
    const answer = await send(
      '{ account { username } ... @defer { channels(first: 1) { nodes { name } } } }',
      { method: 'POST', headers: { accept: 'multipart/mixed' } },
    );
    const parts = [...(await answer.text()).matchAll(/^\{.*\}$/gm)].map(([part]) =>
      JSON.parse(part),
    );
    expect(parts[0]).toMatchObject({ data: { account: {} }, hasNext: true });
    expect(parts[0]).not.toHaveProperty('extensions');
    expect(parts.at(-1)).toMatchObject({ hasNext: false, extensions: { upstream: { calls: 1 } } });
  });
});
