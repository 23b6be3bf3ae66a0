import type { ApolloClient } from '@apollo/client';
import { parse } from 'graphql';
import { type Environment, fetchQuery, type GraphQLTaggedNode } from 'relay-runtime';
import { Client, fetchExchange } from 'urql';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { clientStage, placeArtifacts } from './support/client-stage.ts';
import { until } from './support/live-recipes.ts';

const stage = clientStage();
let door: Door;

beforeAll(() => placeArtifacts(stage.project));
beforeEach(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});

const open = {
  apollo: async () => {
    type Setup = { apolloClient: (uri: string) => ApolloClient };
    return (await stage.load<Setup>('apollo.ts')).apolloClient(`${door.url}/graphql`);
  },
  urql: async () => {
    type Setup = { urqlClient: (url: string) => Client };
    return (await stage.load<Setup>('urql.ts')).urqlClient(`${door.url}/graphql`);
  },
  relay: async () => {
    type Setup = { relayEnvironment: (url: string) => Environment };
    return (await stage.load<Setup>('relay.ts')).relayEnvironment(`${door.url}/graphql`);
  },
};

interface Parts {
  readonly account?: { readonly username: string };
  readonly overlays?: { readonly nodes: readonly { readonly name: string }[] };
}

/** What a page can show of an answer so far. */
const shown = (data: unknown): unknown[] => {
  const { account, overlays } = (data ?? {}) as Parts;
  return [account?.username, overlays?.nodes[0]?.name];
};

describe('a deferred part', () => {
  const Deferred = parse(`query Deferred {
    account { id username }
    ... @defer { overlays(first: 1) { nodes { id name } } }
  }`);
  const parts = [
    ['studio', undefined],
    ['studio', 'Gift cards in every size'],
  ];

  it('comes second with Apollo Client', async () => {
    const client = await open.apollo();
    const seen: unknown[] = [];
    const watching = client
      .watchQuery({ query: Deferred })
      .subscribe(({ data }) => data && seen.push(shown(data)));
    await until(() => seen, parts);
    watching.unsubscribe();
    client.stop();
  });

  it('comes second with urql', async () => {
    const client = await open.urql();
    const seen: unknown[] = [];
    const watching = client
      .query(Deferred, {})
      .subscribe(({ data }) => data && seen.push(shown(data)));
    await until(() => seen, parts);
    watching.unsubscribe();
  });
});

describe('what failed for now', () => {
  /** The API is out of order until somebody has been told so. */
  async function outOfOrder(ask: () => Promise<unknown>): Promise<unknown> {
    const fixed = door.sandbox.links.fault({ kind: 'error-500', path: '/api/campaigns' });
    const answer = ask();
    await until(() => /UPSTREAM_UNAVAILABLE/.test(door.log()), true);
    fixed();
    await door.clock.advance(60_000);
    return answer;
  }
  const names = { campaigns: { edges: expect.arrayContaining([expect.anything()]) } };

  it('is asked for again by Apollo Client', async () => {
    const client = await open.apollo();
    const { Campaigns } = await stage.load<{ Campaigns: never }>('operations.ts');
    const answer = await outOfOrder(() => client.query({ query: Campaigns }));
    expect(answer).toMatchObject({ data: names });
    client.stop();
  });

  it('is asked for again by urql', async () => {
    const client = await open.urql();
    const { Campaigns } = await stage.load<{ Campaigns: never }>('operations.ts');
    const { data, error } = (await outOfOrder(() => client.query(Campaigns, {}).toPromise())) as {
      data: unknown;
      error?: unknown;
    };
    expect(error).toBeUndefined();
    expect(data).toMatchObject(names);
  });

  it('is asked for again by Relay', async () => {
    const environment = await open.relay();
    const { default: query } = await stage.load<{ default: GraphQLTaggedNode }>(
      '__generated__/relayCampaignsQuery.graphql.ts',
    );
    await outOfOrder(() => fetchQuery(environment, query, {}).toPromise());
    const records = environment.getStore().getSource().getRecordIDs();
    expect(records.some((id) => id.startsWith('Q2FtcGFpZ24'))).toBe(true);
  });
});

it('urql sends a file among the variables, as docs/frontend-reference.md says', async () => {
  const fetchOptions = { headers: { 'apollo-require-preflight': 'true' } };
  const exchanges = [fetchExchange];
  const client = new Client({ url: `${door.url}/graphql`, fetchOptions, exchanges });
  const query = `mutation ($file: Upload!) {
    uploadFile(input: { file: $file, name: "Harbour" }) { ... on File { name } ... on Error { message } }
  }`;
  const file = new File(['a picture'], 'photo.png');
  const { data, error } = await client.mutation(query, { file }).toPromise();
  expect(error).toBeUndefined();
  expect(data).toMatchObject({ uploadFile: { name: 'Harbour' } });
});
