import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
} from 'graphql';
import type { Client } from 'urql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser } from '../e2e/browser.ts';
import { servePage } from '../e2e/shown-page.ts';
import { type Door, openDoor } from '../support/door.ts';
import { chromium, describeWith } from '../support/needs.ts';
import { clientBlocks, clientStage, placeArtifacts } from './support/client-stage.ts';

interface Rows {
  readonly campaigns: {
    readonly edges: readonly unknown[];
    readonly pageInfo: { endCursor: string };
  };
}

const stage = clientStage();
const block = (name: string): string => clientBlocks.get(name) ?? `no block ${name}`;

describe('the files of docs/clients.md', () => {
  it('are sound TypeScript', async () => {
    expect(await stage.project.check()).toEqual({ status: 0, output: '' });
  });
});

describe('what docs/clients.md says about the graph', () => {
  const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
  const objects = Object.values(schema.getTypeMap()).filter(
    (type): type is GraphQLObjectType =>
      isObjectType(type) && !/^__|^Query$|^Mutation$|^PageInfo$|(Connection|Edge)$/.test(type.name),
  );
  const embedded = objects.filter((type) => !('id' in type.getFields())).map(({ name }) => name);
  const connections = Object.values(schema.getQueryType()?.getFields() ?? {}).filter(({ type }) =>
    getNamedType(type).name.endsWith('Connection'),
  );
  /** The names in a list of a block, or the members of an object in it. */
  const within = (text: string, start: string): string[] => {
    const [, part = ''] = text.split(start);
    return [...(/^[^\]}]*/.exec(part)?.[0] ?? '').matchAll(/\w+/g)]
      .map(([name]) => name)
      .filter((name) => name !== 'list')
      .toSorted();
  };

  it('is every type without an id for Graphcache', () => {
    expect(within(block('urql.ts'), 'embedded = [')).toEqual(embedded.toSorted());
  });

  it('is every list of the graph', () => {
    const names = connections.map(({ name }) => name).toSorted();
    expect(within(block('urql.ts'), '    Query: {')).toEqual(names);
    expect(within(block('apollo.ts'), '          fields: {')).toEqual(names);
  });

  it('is every type that Apollo is to merge: one where it stands, and without an id', () => {
    const single = [...objects, schema.getQueryType()]
      .flatMap((type) => Object.values(type?.getFields() ?? {}))
      .filter(({ type }) => !isListType(getNullableType(type)))
      .map(({ type }) => getNamedType(type).name)
      .filter((name) => embedded.includes(name));
    expect(within(block('apollo.ts'), 'embedded = [')).toEqual([...new Set(single)].toSorted());
  });
});

it('the list of urql grows by the cursor of its next page', async () => {
  const door = await openDoor({ AUTH_MODE: 'none' });
  const { urqlClient } = await stage.load<{ urqlClient: (url: string) => Client }>('urql.ts');
  const { Campaigns } = await stage.load<{ Campaigns: never }>('operations.ts');
  const client = urqlClient(`${door.url}/graphql`);
  let after: string | null = null;
  for (const rows of [10, 20, 22]) {
    const { data } = await client.query<Rows>(Campaigns, { after }).toPromise();
    expect(data?.campaigns.edges).toHaveLength(rows);
    after = data?.campaigns.pageInfo.endCursor ?? null;
  }
  await door.close();
});

describeWith(chromium, 'the lists of docs/clients.md in a browser', () => {
  let door: Door;
  let page: Awaited<ReturnType<typeof servePage>>;
  let html = '';
  beforeAll(async () => {
    page = await servePage(() => html);
    door = await openDoor({ AUTH_MODE: 'none', CORS_ORIGINS: page.origin });
    placeArtifacts(stage.project);
  });
  afterAll(() => {
    page.server.close();
  });

  /** A page around a list, with the provider of its client. */
  const app = (client: string, provider: string, value: string): string => `
import { Suspense } from 'react';
import { ${provider} as Provider } from '${client === 'apollo' ? '@apollo/client/react' : 'react-relay'}';
import { CampaignList } from './${client}-campaigns.tsx';
import { ${client}${client === 'relay' ? 'Environment' : 'Client'} as connect } from './${client}.ts';

const connection = connect('${door.url}/graphql');

export default function App() {
  return <Provider ${value}={connection}><Suspense fallback="One moment"><CampaignList /></Suspense></Provider>;
}
`;

  it.each([
    ['apollo', 'ApolloProvider', 'client'],
    ['relay', 'RelayEnvironmentProvider', 'environment'],
  ])('%s: grow page by page, each row once', async (client, provider, value) => {
    stage.project.write('src/App.tsx', app(client, provider, value));
    html = await stage.project.bundle();
    const { data } = await door.ask('{ campaigns(first: 50) { nodes { name } } }');
    const all = (data as { campaigns: { nodes: { name: string }[] } }).campaigns.nodes;
    const browser = await openBrowser();
    try {
      const tab = await browser.newPage();
      const complaints: string[] = [];
      tab.on('pageerror', ({ message }) => complaints.push(message));
      tab.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      await tab.goto(page.origin);
      const rows = () => tab.locator('p').count();
      for (const shown of [10, 20]) {
        await expect.poll(rows).toBe(shown);
        await tab.getByRole('button', { name: 'More' }).click();
      }
      await expect.poll(rows).toBe(all.length);
      expect(await tab.locator('p').allTextContents()).toEqual(all.map(({ name }) => name));
      expect(await tab.getByRole('button').count()).toBe(0);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
