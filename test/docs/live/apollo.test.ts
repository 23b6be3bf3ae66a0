import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { describe, expect, it } from 'vitest';
import {
  type Campaigns,
  firstName,
  LIVE,
  ONCE,
  recipeStage,
  until,
  WRONG,
} from '../support/live-recipes.ts';

const stage = recipeStage();

/** One field fails, and stays failed. */
const PARTLY = `query Partly @live {
  campaigns(first: 2) { nodes { id name } }
  channels(first: 600) { totalCount }
}`;

describe('Apollo Client with the link of docs/live.md', () => {
  async function open() {
    type Module = { liveLink: (options: { url: string }) => ApolloLink };
    const { liveLink } = await stage.load<Module>('apollo.ts');
    const sent: (string | undefined)[] = [];
    const spy = new ApolloLink((operation, forward) => {
      sent.push(operation.operationName);
      return forward(operation);
    });
    const client = new ApolloClient({
      cache: new InMemoryCache(),
      link: ApolloLink.from([liveLink({ url: stage.url }), spy, new HttpLink({ uri: stage.url })]),
    });
    stage.ends.push(() => client.stop());
    return { client, sent };
  }

  it('has in its cache what others change, until no caller shows it', async () => {
    const { client, sent } = await open();
    const seen: unknown[] = [];
    const query = gql(LIVE);
    const subscription = client
      .watchQuery<Campaigns>({ query, errorPolicy: 'all' })
      .subscribe(({ data }) => seen.push(firstName(data)));
    await until(() => seen.at(-1), 'Closing sale, old shop');
    await stage.rename('Spring sale');
    await until(() => seen.at(-1), 'Spring sale');
    expect(firstName(client.readQuery({ query }))).toBe('Spring sale');
    // A second component that shows it is served by the same stream.
    const other = client.watchQuery<Campaigns>({ query, errorPolicy: 'all' });
    const second: unknown[] = [];
    const beside = other.subscribe(({ data }) => second.push(firstName(data)));
    await stage.rename('Summer sale');
    await until(() => second.at(-1), 'Summer sale');
    expect(await stage.streams()).toBe(1);
    expect(sent).toEqual([]);

    beside.unsubscribe();
    subscription.unsubscribe();
    await until(stage.streams, 0);
  });

  it('sends everything else as ever', async () => {
    const { client, sent } = await open();
    const { data } = await client.query<Campaigns>({ query: gql(ONCE) });
    expect(firstName(data)).toBe('Closing sale, old shop');
    expect(sent).toEqual(['Once']);
    expect(await stage.streams()).toBe(0);
  });

  it('shows errors beside data and goes on, and ends with what is refused', async () => {
    const { client } = await open();
    const seen: unknown[] = [];
    const partly = client
      .watchQuery<Campaigns>({ query: gql(PARTLY), errorPolicy: 'all' })
      .subscribe(({ data, error }) => data && seen.push([firstName(data), error?.message]));
    const message = '"first" must be from 0 to 500, not 600.';
    await until(() => seen.at(-1), ['Closing sale, old shop', message]);
    await stage.rename('Spring sale');
    await until(() => seen.at(-1), ['Spring sale', message]);
    partly.unsubscribe();

    const wrong = client.watchQuery({ query: gql(WRONG), errorPolicy: 'all' });
    const errors: unknown[] = [];
    wrong.subscribe(({ error }) => error && errors.push(error.message));
    await until(() => errors, [expect.stringContaining('nome')]);
    await until(stage.streams, 0);
  });
});
