import { beforeAll, describe, expect, it } from 'vitest';
import { Agent } from '../support/agent.ts';
import { type Door, openDoor } from '../support/door.ts';

/** Tokens of a text, as four characters each. */
const tokens = (text: string): number => Math.ceil(text.length / 4);

/** What people ask an assistant about their account, as it would be queried. */
const QUESTIONS: Readonly<Record<string, string>> = {
  'How much of my plan have I used?':
    '{ account { username plan { name } usage { feature used limit } } }',
  'Which campaigns do I have?': '{ campaigns(first: 50) { totalCount nodes { name public } } }',
  'Which QR codes were scanned most?':
    '{ qrCodes(first: 8) { totalCount nodes { name statistics { clicks uniqueClicks } } } }',
  'What is in my newest channels?':
    '{ channels(first: 5) { nodes { name items(first: 5) { nodes { __typename ... on LinkItem { link } } } } } }',
  'What do I sell, at which prices?':
    '{ items(first: 20, orderBy: { field: PRICE, direction: DESC }) { totalCount nodes { name currency price { regular } } } }',
  'Which domains point where?': '{ domains { nodes { domain redirectRoot redirect404 } } }',
};

describe('The context of an agent', () => {
  let door: Door;
  let agent: Agent;
  beforeAll(async () => {
    door = await openDoor({ AUTH_MODE: 'none', INTROSPECTION: 'on', MCP_CHANGES: 'on' });
    agent = new Agent(door.url);
  });

  it('has at most 2,200 tokens of tools and instructions', async () => {
    const { result: discovered } = await agent.send('server/discover');
    const text = JSON.stringify(await agent.tools()) + String(discovered?.['instructions']);
    expect(tokens(text)).toBeLessThanOrEqual(2200);
  });

  it('has at most 2,000 tokens of descriptions before the first query', async () => {
    const index = await agent.call('graph_describe');
    for (const name of [
      'channels',
      'qrCodes',
      'items',
      'campaigns',
      'account',
      'createChannel',
      'updateQrCode',
    ]) {
      const { text } = await agent.call('graph_describe', { names: [name] });
      expect([name, tokens(index.text + text)]).toEqual([name, expect.toSatisfy((n) => n <= 2000)]);
    }
  });

  it('has answers to usual questions of at most 800 tokens in the middle', async () => {
    const sizes: number[] = [];
    for (const [question, operation] of Object.entries(QUESTIONS)) {
      const { isError, json, text } = await agent.call('graph_read', { operation, maxCalls: 10 });
      expect([question, isError, json.errors]).toEqual([question, false, undefined]);
      sizes.push(tokens(text));
    }
    sizes.sort((one, other) => one - other);
    expect(((sizes[2] ?? 0) + (sizes[3] ?? 0)) / 2).toBeLessThanOrEqual(800);
  });
});
