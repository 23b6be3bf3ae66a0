import { cacheExchange, createClient, type Exchange, fetchExchange } from '@urql/core';
import { describe, expect, it, vi } from 'vitest';
import { firstName, LIVE, ONCE, recipeStage, until, WRONG } from '../support/live-recipes.ts';

const stage = recipeStage();

describe('urql with the exchange of docs/live.md', () => {
  async function open() {
    type Module = { liveExchange: (options: { url: string }) => Exchange };
    const { liveExchange } = await stage.load<Module>('urql.ts');
    const sent = vi.fn(fetch);
    const exchanges = [liveExchange({ url: stage.url }), cacheExchange, fetchExchange];
    return {
      client: createClient({ url: stage.url, exchanges, fetch: sent, preferGetMethod: false }),
      sent,
    };
  }

  it('shows what others change, until no caller looks', async () => {
    const { client, sent } = await open();
    const seen: unknown[] = [];
    const look = () =>
      client.query(LIVE, {}).subscribe(({ data, extensions }) => {
        if (data) seen.push([firstName(data), extensions?.['live']?.revision]);
      });
    const first = look();
    await until(() => seen.at(-1), ['Closing sale, old shop', 1]);
    await stage.rename('Spring sale');
    await until(() => seen.at(-1), ['Spring sale', 2]);
    expect(sent).not.toHaveBeenCalled();
    first.unsubscribe();
    await until(stage.streams, 0);
    // Somebody who looks again is not shown what was kept.
    await stage.rename('Summer sale');
    const again = look();
    stage.ends.push(() => again.unsubscribe());
    await until(() => (seen.at(-1) as unknown[])[0], 'Summer sale');
  });

  it('has one stream for a query that is asked for again', async () => {
    const { client } = await open();
    const seen: unknown[] = [];
    const look = () =>
      client
        .query(LIVE, {}, { requestPolicy: 'network-only' })
        .subscribe(({ data, stale }) => !stale && seen.push(firstName(data)));
    const one = look();
    stage.ends.push(() => one.unsubscribe());
    await until(() => seen.length, 1);
    const other = look();
    stage.ends.push(() => other.unsubscribe());
    await stage.rename('Spring sale');
    await until(() => seen.slice(-2), ['Spring sale', 'Spring sale']);
    await until(stage.streams, 1);
  });

  it('sends everything else as ever', async () => {
    const { client, sent } = await open();
    const { data } = await client.query(ONCE, {}).toPromise();
    expect(firstName(data)).toBe('Closing sale, old shop');
    expect(sent).toHaveBeenCalledTimes(1);
    expect(await stage.streams()).toBe(0);
  });

  it('shows errors beside data while there are any, and ends with what is refused', async () => {
    const { client } = await open();
    const seen: unknown[] = [];
    const failing = `query @live { campaigns(first: 2) { nodes { id name } } channels(first: 1) { totalCount } }`;
    const fixed = stage.door.sandbox.links.fault({ kind: 'error-500', path: '/api/channels' });
    const partly = client.query(failing, {}).subscribe(({ data, error }) => {
      seen.push([firstName(data), error?.graphQLErrors[0]?.extensions['code']]);
    });
    await until(() => seen.at(-1), ['Closing sale, old shop', 'UPSTREAM_UNAVAILABLE']);
    fixed();
    await stage.rename('Spring sale');
    await stage.door.clock.advance(60_000);
    await until(() => seen.at(-1), ['Spring sale', undefined]);
    partly.unsubscribe();

    const { error } = await client.query(WRONG, {}).toPromise();
    expect(error?.graphQLErrors[0]?.message).toContain('nome');
  });
});
