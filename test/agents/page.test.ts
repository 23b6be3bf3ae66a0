import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { Agent } from '../support/agent.ts';
import { fencedBlocks, pageAt } from '../support/readme.ts';

/** The calls of the page with their results. */
const examples = fencedBlocks(pageAt('docs/agents.md')).filter(({ file }) => file === 'agent');

describe('The page about agents', () => {
  let gateway: Gateway;
  let agent: Agent;
  beforeAll(async () => {
    gateway = await createGateway(loadConfig({ PORT: '0', LOG_LEVEL: 'silent' }));
    agent = new Agent((await gateway.listen()).url);
  });
  afterAll(() => gateway.close());

  it('shows calls and their results as they are', async () => {
    expect(examples).toHaveLength(3);
    for (const { text } of examples) {
      const [call = '', ...result] = text.split('\n');
      const [, name = '', args = ''] = /^(\w+) (.*)$/.exec(call) ?? [];
      const got = await agent.call(name, JSON.parse(args) as object as Record<string, unknown>);
      expect(got.text).toBe(result.join('\n').trim());
    }
  });
});
