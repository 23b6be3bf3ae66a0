import { hash } from 'node:crypto';
import { join } from 'node:path';
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { parse } from 'graphql';
import { type Environment, fetchQuery, type GraphQLTaggedNode } from 'relay-runtime';
import type { Client } from 'urql';
import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { pageAt } from '../support/readme.ts';
import { clientBlocks, clientStage } from './support/client-stage.ts';
import { blocksOf } from './support/typed-page.ts';

const stage = clientStage();
const UNLISTED = '{ plans { id name } }';
let door: Door;

/** A gateway that answers what the list in the project's folder has, and its address. */
async function openListed(): Promise<string> {
  const path = join(stage.project.folder, 'operations.json');
  door = await openDoor({ AUTH_MODE: 'none', PERSISTED_OPERATIONS_FILE: path });
  expect((await door.ask(UNLISTED)).code).toBe('FORBIDDEN');
  return `${door.url}/graphql`;
}

/** Makes the list as docs/frontend-reference.md says. */
async function list(script: string): Promise<void> {
  const steps = [
    ['gql.tada/bin/cli.js', 'generate-persisted', '-o', 'found.json'],
    [script],
  ] as const;
  for (const [program, ...args] of steps) {
    const { status, output } = await stage.project.run(program, ...args);
    expect(status, output).toBe(0);
  }
}

const campaigns = { campaigns: { edges: expect.arrayContaining([expect.anything()]) } };
const input = { id: 'Q2FtcGFpZ246NTM', name: 'Winter sale' };
const changed = { updateCampaign: { __typename: 'Campaign', ...input } };
type Operations = { Campaigns: never; ChangeCampaign: never };

describe('the listed operations of docs/frontend-reference.md', () => {
  it('are those that urql sends, and others are not answered', async () => {
    await list('../persist.js');
    const url = await openListed();
    type Setup = { persistedClient: (url: string) => Client };
    const client = (await stage.load<Setup>('urql-persisted.ts')).persistedClient(url);
    const { Campaigns, ChangeCampaign } = await stage.load<Operations>('operations.ts');
    expect((await client.query(Campaigns, {}).toPromise()).data).toMatchObject(campaigns);
    const { data } = await client.mutation(ChangeCampaign, { input }).toPromise();
    expect(data).toMatchObject(changed);
    const { error } = await client.query(UNLISTED, {}).toPromise();
    expect(error?.graphQLErrors[0]?.extensions['code']).toBe('PERSISTED_QUERY_NOT_FOUND');
  });

  it('are those that Apollo Client sends, and others are not answered', async () => {
    const page = pageAt('docs/frontend-reference.md');
    const [, text = ''] = /^\*\*Apollo Client\*\*: `text` is `(.*?)`/m.exec(page) ?? [];
    const script = (blocksOf('docs/frontend-reference.md').get('persist.js') ?? '')
      .replace(
        /^import .* from 'urql';$/m,
        "import { parse, print } from 'graphql';\nimport { InMemoryCache } from '@apollo/client';",
      )
      .replace(/(?<=const text = ).*(?=;)/, text);
    stage.project.write('persist-apollo.js', script);
    await list('../persist-apollo.js');
    const uri = await openListed();
    const persisted = new PersistedQueryLink({
      sha256: (text: string) => hash('sha256', text),
      retry: () => false,
      disable: () => false,
    });
    const link = ApolloLink.from([persisted, new HttpLink({ uri })]);
    const client = new ApolloClient({ cache: new InMemoryCache(), link });
    const { Campaigns, ChangeCampaign } = await stage.load<Operations>('operations.ts');
    expect((await client.query({ query: Campaigns })).data).toMatchObject(campaigns);
    const variables = { input } as never;
    const { data } = await client.mutate({ mutation: ChangeCampaign, variables });
    expect(data).toMatchObject(changed);
    const unlisted = client.query({ query: parse(UNLISTED) });
    await expect(unlisted).rejects.toThrow('PersistedQueryNotFound');
    client.stop();
  });

  it('are those that the compiler of Relay lists', async () => {
    const { project } = stage;
    const page = pageAt('docs/frontend-reference.md');
    const [, more = ''] = /`("persistConfig": .*?)`/.exec(page) ?? [];
    const config = JSON.parse(clientBlocks.get('relay.config.json') ?? '');
    project.write('relay.config.json', JSON.stringify({ ...config, ...JSON.parse(`{${more}}`) }));
    project.write('operations.json', '{}');
    const { status, output } = await project.run('relay-compiler/cli.js', 'relay.config.json');
    expect(status, output).toBe(0);
    const url = await openListed();
    type Setup = { relayEnvironment: (url: string) => Environment };
    const environment = (await stage.load<Setup>('relay.ts')).relayEnvironment(url);
    const { default: query } = await stage.load<{ default: GraphQLTaggedNode }>(
      '__generated__/relayCampaignsQuery.graphql.ts',
    );
    await fetchQuery(environment, query, {}).toPromise();
    expect(environment.getStore().getSource().has(input.id)).toBe(true);
  });
});
