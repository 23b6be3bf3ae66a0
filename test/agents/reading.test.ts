import { beforeAll, describe, expect, it } from 'vitest';
import { Agent, codeOf } from '../support/agent.ts';
import { type Door, openDoor } from '../support/door.ts';

const SIX = '{ account { username } domains { nodes { domain } } pixels { nodes { name } } }';

interface QrCodes {
  readonly nodes: readonly object[];
}

describe('An agent', () => {
  let door: Door;
  let agent: Agent;
  beforeAll(async () => {
    door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'on', MCP_CHANGES: 'on' });
    agent = new Agent(door.url);
  });

  it('finds five tools, and what they are for', async () => {
    const tools = await agent.tools();
    expect(tools.map(({ name }) => name)).toEqual([
      'graph_describe',
      'graph_price',
      'graph_read',
      'graph_change',
      'graph_job',
    ]);
    expect(tools.find(({ name }) => name === 'graph_change')?.annotations).toMatchObject({
      destructiveHint: true,
      idempotentHint: true,
      readOnlyHint: false,
    });
    const { result: discovered } = await agent.send('server/discover');
    expect(discovered?.['instructions']).toContain('graph_describe');
  });

  it('reads data, with its cost on the last line', async () => {
    const operation = '{ account { username } }';
    const first = await agent.call('graph_read', { operation });
    expect(first.json).toEqual({ data: { account: { username: expect.any(String) } } });
    expect(first.cost).toMatch(/^cost 1 upstream call; \d+ of \d+ left$/);
    const again = await agent.call('graph_read', { operation });
    expect(again.cost).toMatch(
      /^cost 0 upstream calls \(1 from cache, oldest 0 s\); \d+ of \d+ left$/,
    );
  });

  it('is told what a query costs, without spending it', async () => {
    const before = door.calls();
    const operation = '{ seller { username } }';
    const { cost, json } = await agent.call('graph_price', { operation });
    expect(json).toMatchObject({
      price: '1 upstream call',
      calls: 1,
      exact: true,
      fits: true,
      startsInMs: 0,
      fromCache: 0,
    });
    expect(cost).toMatch(/^cost 0 upstream calls; /);
    expect(door.calls()).toBe(before);
  });

  it('cannot send a query that needs more calls than it has allowed', async () => {
    const before = door.calls();
    const refused = await agent.call('graph_read', { operation: SIX, maxCalls: 1 });
    expect([refused.isError, codeOf(refused)]).toEqual([true, 'TOO_MANY_CALLS']);
    expect(refused.json.errors?.[0]?.message).toContain('needs');
    expect(door.calls()).toBe(before);
    const { isError } = await agent.call('graph_read', { operation: SIX, maxCalls: 4 });
    expect(isError).toBe(false);
  });

  it('cannot read with a mutation, nor change with a query', async () => {
    const mutation = 'mutation { createChannel(input: { name: "x" }) { __typename } }';
    const before = door.calls();
    expect(codeOf(await agent.call('graph_read', { operation: mutation }))).toBe('WRONG_TOOL');
    const query = { operation: '{ account { username } }' };
    expect(codeOf(await agent.call('graph_change', query))).toBe('WRONG_TOOL');
    expect(codeOf(await agent.call('graph_job', { action: 'start', operation: mutation }))).toBe(
      'WRONG_TOOL',
    );
    expect(door.calls()).toBe(before);
  });

  it.each([
    ['no GraphQL', '{ account {', 'BAD_USER_INPUT'],
    ['an unknown field', '{ acount { username } }', 'BAD_USER_INPUT'],
    ['two operations', 'query A { account { id } } query B { account { id } }', 'BAD_USER_INPUT'],
    ['a subscription', 'subscription { account { id } }', 'BAD_USER_INPUT'],
    [
      'too many rows',
      '{ channels(first: 500) { nodes { items(first: 500) { nodes { __typename } } } } }',
      'OPERATION_TOO_EXPENSIVE',
    ],
  ])('gets a code and a sentence for %s', async (_, operation, code) => {
    const before = door.calls();
    const refused = await agent.call('graph_read', { operation });
    expect([refused.isError, codeOf(refused)]).toEqual([true, code]);
    expect(door.calls()).toBe(before);
  });

  it.each([
    ['a missing argument', 'graph_read', {}],
    ['an unknown argument', 'graph_read', { operation: '{ account { id } }', force: true }],
    ['a number that is none', 'graph_read', { operation: '{ account { id } }', maxCalls: 'many' }],
    ['a negative wait', 'graph_read', { operation: '{ account { id } }', waitSeconds: -1 }],
    ['an action that is none', 'graph_job', { action: 'explode' }],
  ])('gets an error for %s', async (_, name, args) => {
    const before = door.calls();
    const { isError, text } = await agent.call(name, args);
    expect([isError, text]).toEqual([true, expect.stringContaining('nvalid')]);
    expect(door.calls()).toBe(before);
  });

  it('is told how many rows of a large result fit, which are cached then', async () => {
    const aliases = Array.from({ length: 45 }, (_, at) => `name${at}: name`).join(' ');
    const read = (first: number) =>
      agent.call('graph_read', {
        operation: `{ qrCodes(first: ${first}) { totalCount nodes { id ${aliases} } } }`,
      });
    const refused = await read(100);
    expect([refused.isError, codeOf(refused)]).toEqual([true, 'RESULT_TOO_LARGE']);
    const first = Number(refused.json.errors?.[0]?.extensions['first']);
    expect(refused.json.errors?.[0]?.message).toContain(`It fits with first: ${first} `);
    const fitting = await read(first);
    expect((fitting.data['qrCodes'] as QrCodes).nodes).toHaveLength(first);
    expect(fitting.cost).toMatch(/^cost 0 upstream calls/);
    expect(codeOf(await read(first + 1))).toBe('RESULT_TOO_LARGE');
  });

  it('is told so of a row that is too large alone', async () => {
    const types = Array.from({ length: 30 }, (_, at) => `type${at}: __typename`).join(' ');
    const operation = `{ channels(first: 2) { nodes { items(first: 100) { nodes { ${types} } } } } }`;
    const refused = await agent.call('graph_read', { operation });
    expect(refused.json.errors?.[0]).toMatchObject({
      message: expect.stringContaining('Even one row'),
      extensions: { code: 'RESULT_TOO_LARGE', first: 0 },
    });
  });

  it('is told where the fields of rows are', async () => {
    const { text } = await agent.call('graph_price', { operation: '{ channels { name } }' });
    expect(text).toContain('The rows are in \\"nodes { name }\\".');
  });

  it('gets the errors of fields beside the data of others', async () => {
    const operation = '{ account { username } campaign(id: "Q2hhbm5lbDox") { name } }';
    const { isError, json } = await agent.call('graph_read', { operation });
    expect(isError).toBe(false);
    expect(json.data).toMatchObject({ account: { username: expect.any(String) }, campaign: null });
  });

  it('describes the graph, a name, and what a search finds', async () => {
    const index = await agent.call('graph_describe');
    expect(index.text).toContain('channels(orderBy, search, starred): ChannelConnection');
    const { text } = await agent.call('graph_describe', { names: ['channels', 'Pixel'] });
    expect(text).toContain('Costs 1 upstream request per page');
    expect(text).toContain('type Channel {');
    expect(text).toContain('"""');
    const found = await agent.call('graph_describe', { find: 'clicks' });
    expect(found.text).toContain('QrStatistics.clicks');
    // Nothing has all of these words; what has most of them is first.
    const some = await agent.call('graph_describe', { find: 'zebra statistics clicks' });
    expect(some.text).toMatch(/^QrStatistics\.clicks: /);
    const unknown = await agent.call('graph_describe', { names: ['chanels'] });
    expect([unknown.isError, codeOf(unknown)]).toEqual([true, 'BAD_USER_INPUT']);
    const nothing = await agent.call('graph_describe', { find: 'zebra' });
    expect(nothing.text).toContain('Nothing has');
  });

  it('is shown as an agent in the log, whatever its token', async () => {
    await agent.call('graph_read', { operation: 'query OfAgent { account { username } }' });
    const lines = door
      .log()
      .split('\n')
      .filter((each) => each.includes('OfAgent'));
    // Its price is no operation of its own.
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '{}')).toMatchObject({
      callerClass: 'agent',
      operation: 'OfAgent',
    });
  });
});

describe('An agent over its limit', () => {
  let door: Door;

  it('gets the time to retry at once, and cached answers for free', async () => {
    const CALLER_CLASSES = JSON.stringify({ agent: { weight: 1, maxCallsPerMinute: 2 } });
    door = await openDoor({ AUTH_MODE: 'none', CALLER_CLASSES });
    const agent = new Agent(door.url);
    const cached = { operation: '{ account { username } }' };
    await agent.call('graph_read', cached);
    await agent.call('graph_read', { operation: '{ domains { nodes { domain } } }' });
    const before = door.calls();
    const refused = await agent.call('graph_read', { operation: '{ pixels { nodes { name } } }' });
    expect([refused.isError, codeOf(refused)]).toEqual([true, 'BUDGET_EXHAUSTED']);
    const retryAfterMs = refused.json.errors?.[0]?.extensions['retryAfterMs'];
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(refused.cost).toBe('cost 0 upstream calls; 0 of 2 left');
    const free = await agent.call('graph_read', cached);
    expect([free.isError, free.cost]).toEqual([
      false,
      'cost 0 upstream calls (1 from cache, oldest 0 s); 0 of 2 left',
    ]);
    expect(door.calls()).toBe(before);
    // People are not concerned.
    expect((await door.ask('{ pixels { nodes { name } } }')).errors).toEqual([]);
  });
});

describe('An agent where the schema is not public', () => {
  it('reads, and describes nothing', async () => {
    const door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'off' });
    const agent = new Agent(door.url);
    const { isError } = await agent.call('graph_read', { operation: '{ account { username } }' });
    expect(isError).toBe(false);
    for (const args of [{}, { names: ['Channel'] }, { find: 'channel' }]) {
      const refused = await agent.call('graph_describe', args);
      expect([refused.isError, codeOf(refused)]).toEqual([true, 'FORBIDDEN']);
    }
    const misspelled = await agent.call('graph_read', { operation: '{ acount { username } }' });
    expect(misspelled.text).not.toContain('Did you mean');
  });
});
