import type { ApolloClient } from '@apollo/client';
import {
  createOperationDescriptor,
  type Environment,
  fetchQuery,
  type GraphQLTaggedNode,
  getFragment,
  getRequest,
  getSingularSelector,
} from 'relay-runtime';
import type { Client } from 'urql';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { clientStage, placeArtifacts } from './support/client-stage.ts';
import { until } from './support/live-recipes.ts';

const stage = clientStage();
const ID = 'Q2FtcGFpZ246NTM';
const BEFORE = 'Closing sale, old shop';
let door: Door;

beforeAll(() => placeArtifacts(stage.project));
beforeEach(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});

type Input = { id: string; name: string; slug?: string };
type Change<Connection> = (connection: Connection, input: Input) => Promise<string | null>;

/** A client with the names of the newest campaign that it has shown, one after the other. */
interface Opened {
  readonly seen: unknown[];
  readonly change: (input: Input) => Promise<string | null>;
  readonly close: () => void;
}

interface Rows {
  readonly campaigns: { readonly edges: readonly { readonly node: { name: string } }[] } | null;
}

const nameIn = (data: unknown): string | undefined =>
  (data as Rows | null | undefined)?.campaigns?.edges[0]?.node.name;

type Operations = { Campaigns: never };

/** Adds what is shown, if it is news. */
const adder = (seen: unknown[]) => (data: unknown) => {
  const name = nameIn(data);
  if (name !== undefined && name !== seen.at(-1)) seen.push(name);
};

async function apollo(): Promise<Opened> {
  type Setup = { apolloClient: (uri: string) => ApolloClient };
  const client = (await stage.load<Setup>('apollo.ts')).apolloClient(`${door.url}/graphql`);
  const { Campaigns } = await stage.load<Operations>('operations.ts');
  const { changeCampaign } = await stage.load<{ changeCampaign: Change<ApolloClient> }>(
    'apollo-change.ts',
  );
  const seen: unknown[] = [];
  const add = adder(seen);
  const watching = client.watchQuery({ query: Campaigns }).subscribe(({ data }) => add(data));
  const close = (): void => {
    watching.unsubscribe();
    client.stop();
  };
  return { seen, change: (input) => changeCampaign(client, input), close };
}

async function urql(): Promise<Opened> {
  const { urqlClient } = await stage.load<{ urqlClient: (url: string) => Client }>('urql.ts');
  const client = urqlClient(`${door.url}/graphql`);
  const { Campaigns } = await stage.load<Operations>('operations.ts');
  const { changeCampaign } = await stage.load<{ changeCampaign: Change<Client> }>('urql-change.ts');
  const seen: unknown[] = [];
  const add = adder(seen);
  const watching = client.query(Campaigns, {}).subscribe(({ data }) => add(data));
  return {
    seen,
    change: (input) => changeCampaign(client, input),
    close: () => watching.unsubscribe(),
  };
}

async function relay(): Promise<Opened> {
  type Setup = { relayEnvironment: (url: string) => Environment };
  const environment = (await stage.load<Setup>('relay.ts')).relayEnvironment(`${door.url}/graphql`);
  const { default: query } = await stage.load<{ default: GraphQLTaggedNode }>(
    '__generated__/relayCampaignsQuery.graphql.ts',
  );
  type Changes = { changeCampaign: Change<Environment> };
  const { changeCampaign } = await stage.load<Changes>('relay-change.ts');
  const seen: unknown[] = [];
  const add = adder(seen);
  const shown = await fetchQuery(environment, query, {}).toPromise();
  const kept = environment.retain(createOperationDescriptor(getRequest(query), {}));
  const list = await stage.load<{ default: GraphQLTaggedNode }>(
    '__generated__/relayCampaigns_list.graphql.ts',
  );
  const selector = getSingularSelector(getFragment(list.default), shown);
  if (!selector) throw new Error('the query has no list');
  const snapshot = environment.lookup(selector);
  add(snapshot.data);
  const watching = environment.subscribe(snapshot, ({ data }) => add(data));
  const close = (): void => {
    watching.dispose();
    kept.dispose();
  };
  return { seen, change: (input) => changeCampaign(environment, input), close };
}

const clients = { apollo, relay, urql } as const;

describe.each(Object.entries(clients))('a change by %s, as docs/clients.md has it', (_, open) => {
  it('shows at once, and stays when it is done', async () => {
    const { seen, change, close } = await open();
    await until(() => seen.at(-1), BEFORE);
    const calls = door.calls();
    const done = change({ id: ID, name: 'Winter sale' });
    await until(() => seen.at(-1), 'Winter sale');
    expect(await done).toBeNull();
    expect(seen).toEqual([BEFORE, 'Winter sale']);
    expect(door.calls() - calls).toBe(1);
    close();
  });

  it('goes back to what was when it is refused, by the gateway or by the API', async () => {
    const { seen, change, close } = await open();
    await until(() => seen.at(-1), BEFORE);
    expect(await change({ id: ID, name: ' ' })).toContain('name');
    await until(() => seen, [BEFORE, ' ', BEFORE]);
    await door.ask(
      `mutation { createCampaign(input: { name: "W", slug: "taken" }) { __typename } }`,
    );
    expect(await change({ id: ID, name: 'Winter', slug: 'taken' })).toContain('already taken');
    await until(() => seen.slice(2), [BEFORE, 'Winter', BEFORE]);
    close();
  });

  it('goes back when no answer comes', async () => {
    const { seen, change, close } = await open();
    await until(() => seen.at(-1), BEFORE);
    door.sandbox.links.fault({ kind: 'error-500', path: /^\/api\/campaign\// });
    await expect(change({ id: ID, name: 'Winter' })).rejects.toThrow();
    await until(() => seen, [BEFORE, 'Winter', BEFORE]);
    close();
  });
});
