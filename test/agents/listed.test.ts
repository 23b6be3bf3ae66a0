import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Agent, codeOf } from '../support/agent.ts';
import { type Door, openDoor } from '../support/door.ts';
import { tempFolder } from '../support/folder.ts';

const folder = tempFolder();
const file = join(folder, 'operations.json');

const ACCOUNT = '{ account { username } }';
const SELLER = '{ seller { currency } }';
const operations = {
  channels: `# The newest channels.\n# Sorted by id.\nquery NewestChannels($count: Int!, $search: String) {
    channels(first: $count, search: $search, orderBy: { field: ID, direction: DESC }) { nodes { name } }
  }`,
  create: `# Creates a channel.\nmutation NewChannel($input: CreateChannelInput!) {
    createChannel(input: $input) { ... on Channel { name } }
  }`,
  account: ACCOUNT,
  [`sha256:${hash('sha256', SELLER)}`]: SELLER,
  broken: '# It has no such field.\nquery Broken { acount { id } }',
  again: '# The same name.\nquery NewestChannels { account { id } }',
  unnamed: '# It has no name.\n{ account { id } }',
};

describe('An agent where operations are listed', () => {
  let door: Door;
  let agent: Agent;
  beforeEach(async () => {
    writeFileSync(file, JSON.stringify(operations));
    door = await openDoor({
      AUTH_MODE: 'none',
      INTROSPECTION: 'on',
      MCP_CHANGES: 'on',
      PERSISTED_OPERATIONS_FILE: file,
    });
    agent = new Agent(door.url);
  });

  it('has those that begin with a comment as tools, and the operator is told why others are none', async () => {
    const tools = (await agent.tools()).slice(5);
    expect(tools.map(({ name }) => name)).toEqual(['NewestChannels', 'NewChannel']);
    expect(tools[0]).toMatchObject({
      description: 'The newest channels. Sorted by id.',
      inputSchema: {
        properties: { count: { type: 'integer' }, search: { type: 'string' } },
        required: ['count'],
      },
    });
    expect(tools[1]?.inputSchema).toMatchObject({
      properties: {
        input: { properties: { name: { type: 'string' } }, required: ['name'] },
        key: { type: 'string' },
      },
    });
    for (const reason of [
      'broken is no tool',
      'have the name NewestChannels',
      'unnamed is no tool',
    ]) {
      expect(door.log()).toContain(reason);
    }
  });

  it('reads with such a tool, and with the id of any of them', async () => {
    const { data } = await agent.call('NewestChannels', { count: 2 });
    expect((data['channels'] as { nodes: unknown[] }).nodes).toHaveLength(2);
    const read = await agent.call('graph_read', { operation: 'account' });
    expect(read.json.data).toEqual({ account: { username: expect.any(String) } });
    for (const operation of [hash('sha256', SELLER), `sha256:${hash('sha256', SELLER)}`]) {
      const seller = await agent.call('graph_read', { operation });
      expect(seller.json.data).toEqual({ seller: { currency: expect.any(String) } });
    }
    const wrong = await agent.call('NewestChannels', { count: 'two' });
    expect(wrong.isError).toBe(true);
  });

  it('cannot send another text', async () => {
    const before = door.calls();
    for (const operation of ['{ seller { username } }', ACCOUNT]) {
      for (const tool of ['graph_read', 'graph_price', 'graph_change']) {
        expect(codeOf(await agent.call(tool, { operation }))).toBe('FORBIDDEN');
      }
      const job = await agent.call('graph_job', { action: 'start', operation });
      expect(codeOf(job)).toBe('FORBIDDEN');
    }
    expect(door.calls()).toBe(before);
  });

  it('changes with such a tool', async () => {
    const input = { name: 'Listed' };
    const made = await agent.call('NewChannel', { input });
    expect(made.json.data).toEqual({ createChannel: { name: 'Listed' } });
  });
});
