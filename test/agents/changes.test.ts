import { beforeEach, describe, expect, it } from 'vitest';
import { Agent, codeOf, type ToolResult } from '../support/agent.ts';
import { type Door, openDoor } from '../support/door.ts';
import { tokenFile } from '../support/folder.ts';

const tokenOf = (name: string): string => `${name}-token-0123456789`;
const file = tokenFile(
  ...(['editor', 'admin', 'viewer'] as const).flatMap((role) =>
    [role, `other-${role}`].map((name) => ({ name, role, token: tokenOf(name) })),
  ),
);

const CREATE =
  'mutation Create($name: String!) { createChannel(input: { name: $name }) { ... on Channel { id name } } }';
const LOGIN = 'mutation { createLoginUrl(userId: 41) { ... on LoginUrl { url } } }';

let door: Door;
const open = async (env: Readonly<Record<string, string>> = {}): Promise<Agent> => {
  door = await openDoor({ AUTH_MODE: 'token', AUTH_TOKENS_FILE: file, MCP_CHANGES: 'on', ...env });
  return agentOf('editor');
};
const agentOf = (name: string): Agent => new Agent(door.url, tokenOf(name));

/** Writes that have reached the link-management API. */
const writes = (): string[] =>
  door.sandbox.links.requests
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`);
const created = (): number => writes().filter((each) => each.includes('/channel/add')).length;
const outcome = (result: ToolResult): unknown => [result.isError, codeOf(result)];

describe('A change', () => {
  let agent: Agent;
  beforeEach(async () => {
    agent = await open();
  });
  const variables = { name: 'Summer' };

  it('of several fields shows the results of those that have not failed', async () => {
    const operation =
      'mutation { one: createChannel(input: { name: "One" }) { ... on Channel { id } } two: createChannel(input: { name: "Two" }) { ... on Channel { id } } three: createChannel(input: { name: "Three" }) { ... on Channel { id } } }';
    let made = 0;
    door.sandbox.links.fault({
      kind: 'answer',
      path: '/api/channel/add',
      rewrite: (answer) => {
        made += 1;
        return made === 2 ? { ...answer, status: 403, body: { error: 1, message: 'No.' } } : answer;
      },
    });
    const { json } = await agent.call('graph_change', { operation });
    const id = expect.any(String);
    expect(json).toMatchObject({
      data: { one: { id }, two: null, three: { id } },
      errors: [{ path: ['two'] }],
    });
    expect(created()).toBe(3);
  });

  it('has a price, and is made', async () => {
    const { json, cost } = await agent.call('graph_price', { operation: CREATE, variables });
    expect(json).toMatchObject({ calls: 1, fits: true });
    expect(cost).toMatch(/^cost 0 upstream calls; /);
    expect(writes()).toEqual([]);
    const made = await agent.call('graph_change', { operation: CREATE, variables });
    expect(made.json.data).toMatchObject({ createChannel: { name: 'Summer' } });
    expect(created()).toBe(1);
  });

  it('is made once, however often the same call is sent, and again with another key', async () => {
    const sent = { operation: CREATE, variables };
    const results = await Promise.all(
      Array.from({ length: 5 }, () => agent.call('graph_change', sent)),
    );
    results.push(await agent.call('graph_change', sent));
    expect(new Set(results.map(({ json }) => JSON.stringify(json.data))).size).toBe(1);
    expect(results.at(-1)?.text).toContain('Nothing was changed now: this change was made at');
    expect(created()).toBe(1);
    for (let times = 0; times < 2; times += 1) {
      await agent.call('graph_change', { ...sent, key: 'another' });
    }
    expect(created()).toBe(2);
    await agent.call('graph_change', { ...sent, variables: { name: 'Winter' } });
    expect(created()).toBe(3);
  });

  it('does not replay that of another caller', async () => {
    for (const each of [agent, agentOf('other-editor')]) {
      await each.call('graph_change', { operation: CREATE, variables });
    }
    expect(created()).toBe(2);
  });

  it('is refused for a caller without the permission', async () => {
    const viewer = agentOf('viewer');
    for (const tool of ['graph_price', 'graph_change']) {
      const refused = await viewer.call(tool, { operation: CREATE, variables });
      expect(outcome(refused)).toEqual([true, 'FORBIDDEN']);
    }
    expect(writes()).toEqual([]);
  });

  it('whose result is a secret has no key, so it is made each time', async () => {
    const admin = agentOf('admin');
    const urls: unknown[] = [];
    for (let times = 0; times < 2; times += 1) {
      const { data, isError } = await admin.call('graph_change', { operation: LOGIN, key: 'key' });
      expect(isError).toBe(false);
      urls.push(data['createLoginUrl']);
    }
    expect(urls).toEqual([{ url: expect.any(String) }, { url: expect.any(String) }]);
    expect(door.sandbox.links.requests).toHaveLength(2);
  });

  it('that was refused says so, although only its result is selected', async () => {
    const operation = 'mutation { createChannel(input: { name: " " }) { ... on Channel { id } } }';
    const refused = await agent.call('graph_change', { operation });
    expect(refused.text).toContain('createChannel returned a type of which nothing is selected.');
    expect(writes()).toEqual([]);
  });

  it('is not an error if only its result is too large', async () => {
    const aliases = Array.from({ length: 45 }, (_, at) => `a${at}: name`).join(' ');
    const operation = `mutation($name: String!) { createChannel(input: { name: $name }) { ... on Channel { ${aliases} } } }`;
    const long = { name: 'x'.repeat(1000) };
    const made = await agent.call('graph_change', { operation, variables: long });
    expect([made.isError, made.json.data]).toEqual([false, {}]);
    expect(made.text).toContain('The mutation was executed');
    expect(created()).toBe(1);
  });
});

it('No change is possible unless the operator has enabled changes', async () => {
  const agent = await open({ MCP_CHANGES: 'off' });
  const names = (await agent.tools()).map(({ name }) => name);
  expect(names).not.toContain('graph_change');
  const change = { operation: CREATE, variables: { name: 'x' } };
  for (const tool of ['graph_read', 'graph_job']) {
    const refused = await agent.call(tool, { action: 'start', ...change });
    expect(refused.isError).toBe(true);
  }
  const reply = await agent.send('tools/call', { name: 'graph_change', arguments: change });
  expect(reply.error?.message).toContain('graph_change');
  expect(writes()).toEqual([]);
});
