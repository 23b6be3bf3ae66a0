import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../support/folder.ts';

const SCRIPT = join(process.cwd(), 'scripts/schema-changes.js');
const GRAPH = `
directive @semanticNonNull(levels: [Int!]! = [0]) on FIELD_DEFINITION
type Query { channel(id: ID!): Channel @semanticNonNull, find: Found, old: Int @deprecated(reason: "Use channel.") }
"One of them."
type Channel { id: ID!, name: String!, state: State }
type Item { id: ID! }
enum State { OPEN CLOSED }
union Found = Channel
`;

let folder = '';
beforeEach(() => {
  folder = tempFolder();
});

const { PATH = '' } = process.env;
/** What git is told: nothing of this machine, and nothing of a repository around the folder. */
const env = {
  PATH,
  HOME: tmpdir(),
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CEILING_DIRECTORIES: tmpdir(),
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};

function git(...args: readonly string[]): void {
  const { status, stderr } = spawnSync('git', args, { cwd: folder, env, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
}

/** Writes the graph and commits it, with a tag where one is named. */
function commit(graph: string, tag?: string): void {
  write(graph);
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Change', '--allow-empty');
  if (tag !== undefined) git('tag', tag);
}

function write(graph: string): void {
  writeFileSync(join(folder, 'schema.graphql'), graph);
}

/** The lines that the script says. It never fails. */
function changes(args: readonly string[] = [], cwd = folder): string[] {
  const node = [SCRIPT, ...args];
  const { status, stderr, stdout } = spawnSync(process.execPath, node, {
    cwd,
    env,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.trimEnd().split('\n');
}

describe('changes of the graph', () => {
  beforeEach(() => git('init', '--quiet'));

  it('are those since the last tag, by what they mean to clients', () => {
    commit(GRAPH, 'v0.1.0');
    commit(GRAPH, 'v0.2.0');
    write(
      GRAPH.replace(', name: String!', '')
        .replace('OPEN', 'OPEN HIDDEN')
        .replace('= Channel', '= Channel | Item | Code')
        .replace('"One of them."', '"Other words."')
        .concat('type Code { id: ID!, name(first: Int!): String @deprecated(reason: "None.") }'),
    );
    expect(changes()).toEqual([
      'schema: changes since v0.2.0',
      'breaking: clients can stop working (1)',
      "  - Field 'name' was removed from object type 'Channel'",
      'dangerous: clients meet what they may not be made for (3)',
      "  - Enum value 'HIDDEN' was added to enum 'State'",
      "  - Member 'Item' was added to Union type 'Found'",
      "  - Member 'Code' was added to Union type 'Found'",
      'safe (1)',
      "  - Type 'Code' was added",
    ]);
  });

  it('are told of deprecated fields, and of promises about null', () => {
    commit(GRAPH, 'v0.1.0');
    write(
      GRAPH.replace(', old: Int @deprecated(reason: "Use channel.")', '')
        .replace('Channel @semanticNonNull', 'Channel')
        .replace('find: Found', 'find: Found @semanticNonNull')
        .replace('state: State', 'state: State @deprecated(reason: "Use states.")'),
    );
    expect(changes()).toEqual([
      'schema: changes since v0.1.0',
      'breaking: clients can stop working (2)',
      "  - Field 'old' (deprecated) was removed from object type 'Query'",
      "  - Directive 'semanticNonNull' was removed from field 'Query.channel'",
      'safe (2)',
      "  - Directive 'semanticNonNull' was added to field 'Query.find'",
      "  - Field 'Channel.state' is deprecated",
    ]);
  });

  it('are safe where an argument can be left out, and breaking where it cannot', () => {
    commit(GRAPH, 'v0.1.0');
    write(GRAPH.replace('name: String!', 'name(short: Boolean, in: ID!): String!'));
    expect(changes().slice(1)).toEqual([
      'breaking: clients can stop working (1)',
      "  - Argument 'in: ID!' added to field 'Channel.name'",
      'safe (1)',
      "  - Argument 'short: Boolean' added to field 'Channel.name'",
    ]);
  });

  it('are those since what is given', () => {
    commit(GRAPH.replace('CLOSED', ''), 'v0.1.0');
    commit(GRAPH, 'v0.2.0');
    expect(changes()).toEqual(['schema: nothing changes since v0.2.0']);
    expect(changes(['v0.1.0'])).toContain("  - Enum value 'CLOSED' was added to enum 'State'");
    expect(changes(['v0.0.1'])).toEqual(['schema: not compared: v0.0.1 has no schema.graphql']);
  });

  it('are not known without a tag, and it says why', () => {
    commit(GRAPH);
    expect(changes()).toEqual(['schema: not compared: there is no tag yet']);
    commit(GRAPH, 'v0.1.0');
    commit(GRAPH);
    const url = `file://${folder}`;
    git('clone', '--quiet', '--depth', '1', url, 'shallow');
    expect(changes([], join(folder, 'shallow'))).toEqual([
      'schema: not compared: this clone ends before the last tag; git fetch --unshallow --tags',
    ]);
  });

  it('are not known of what is no schema', () => {
    commit(GRAPH, 'v0.1.0');
    write('type Query {');
    expect(changes()).toEqual(['schema: not compared: schema.graphql is no schema']);
  });
});

it('without a repository there is nothing to compare with', () => {
  write(GRAPH);
  expect(changes()).toEqual(['schema: not compared: this is no git repository']);
});

it('a run of all checks reports them', () => {
  expect(readFileSync('.ci/run', 'utf8')).toMatch(/^npm run --silent schema:changes \|\| true$/m);
});
