import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  commitMutation,
  type Environment,
  fetchQuery,
  type GraphQLTaggedNode,
} from 'relay-runtime';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { clientStage } from './support/client-stage.ts';

const stage = clientStage();
/** The newest campaign. */
const ID = 'Q2FtcGFpZ246NTM';
const DELETE = `mutation relayDeleteMutation($id: ID!) {
  deleteCampaign(id: $id) {
    __typename
    ... on Deleted { deletedId @deleteRecord }
    ... on Error { message }
  }
}`;
let door: Door;

beforeEach(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});

describe('a row that Relay deletes', () => {
  it('leaves its store without a warning of one id on two types', async () => {
    const { project } = stage;
    const code = `import { graphql } from 'relay-runtime';\nexport const deleting = graphql\`${DELETE}\`;\n`;
    project.write('src/relay-delete.ts', code);
    const { status, output } = await project.run('relay-compiler/cli.js', 'relay.config.json');
    expect(status, output).toBe(0);
    const name = '__generated__/relayDeleteMutation.graphql.ts';
    const artifact = readFileSync(join(project.folder, 'src', name), 'utf8');
    expect(artifact).not.toMatch(/"name": "id",\s+"storageKey"/);

    type Setup = { relayEnvironment: (url: string) => Environment };
    const environment = (await stage.load<Setup>('relay.ts')).relayEnvironment(
      `${door.url}/graphql`,
    );
    const { default: query } = await stage.load<{ default: GraphQLTaggedNode }>(
      '__generated__/relayCampaignsQuery.graphql.ts',
    );
    const { default: mutation } = await stage.load<{ default: GraphQLTaggedNode }>(name);
    await fetchQuery(environment, query, {}).toPromise();
    const source = environment.getStore().getSource();
    expect(source.get(ID)).toBeTruthy();

    const complaints = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn')];
    await new Promise<void>((resolve, reject) => {
      commitMutation(environment, {
        mutation,
        variables: { id: ID },
        onCompleted: () => resolve(),
        onError: reject,
      });
    });
    expect(complaints.flatMap(({ mock }) => mock.calls)).toEqual([]);
    expect(source.get(ID)).toBeNull();
  });
});
