import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { Agent, codeOf, type ToolResult } from '../support/agent.ts';

interface Job {
  readonly id: string;
  readonly state: string;
  readonly url: string;
  readonly rowsDone: number;
}

const jobIn = ({ json }: ToolResult, field: string): Job => json.data?.[field] as Job;
const EXPORT = { action: 'start', operation: '{ channels { nodes { name } } }' };

describe('A job of an agent', () => {
  let gateway: Gateway;
  let url: string;
  let agent: Agent;
  beforeAll(async () => {
    // Its own sandbox, whose jobs need no folder.
    gateway = await createGateway(loadConfig({ PORT: '0', LOG_LEVEL: 'silent' }));
    ({ url } = await gateway.listen());
    agent = new Agent(url);
  });
  afterAll(() => gateway.close());

  it('exports a list, is started once, and is downloaded', async () => {
    const { id } = jobIn(await agent.call('graph_job', EXPORT), 'startExport');
    // The answer was lost.
    expect(jobIn(await agent.call('graph_job', EXPORT), 'startExport').id).toBe(id);
    let job: Job;
    do {
      await setImmediate();
      job = jobIn(await agent.call('graph_job', { action: 'status', id }), 'job');
    } while (job.state !== 'DONE');
    expect(job.rowsDone).toBe(28);
    const text = await (await fetch(`${url}${job.url}`)).text();
    expect(text.trim().split('\n')).toHaveLength(28);
    const read = await agent.call('graph_job', { action: 'read', id });
    expect(read.text.startsWith(`${text}These are all lines up to byte ${text.length}.\n`)).toBe(
      true,
    );
    const from = text.indexOf('\n') + 1;
    const rest = await agent.call('graph_job', { action: 'read', id, from });
    expect(rest.text.startsWith(`${text.slice(from)}These`)).toBe(true);
    const { json } = await agent.call('graph_job', { action: 'status' });
    expect(json.data?.['jobs']).toMatchObject({ nodes: [{ id }] });
    const another = await agent.call('graph_job', { ...EXPORT, key: 'again' });
    expect(jobIn(another, 'startExport').id).not.toBe(id);
  });

  it('is canceled', async () => {
    // It would need more requests than a window has.
    const operation = '{ channels { nodes { items(first: 100) { nodes { __typename } } } } }';
    const { id } = jobIn(await agent.call('graph_job', { ...EXPORT, operation }), 'startExport');
    const canceled = await agent.call('graph_job', { action: 'cancel', id });
    expect(jobIn(canceled, 'cancelJob').state).toBe('CANCELED');
  });

  it('gets a code for what cannot be one', async () => {
    const missing = await agent.call('graph_job', { action: 'cancel', id: 'Sm9iOjk' });
    expect([missing.isError, codeOf(missing)]).toEqual([true, 'BAD_USER_INPUT']);
    const unread = await agent.call('graph_job', { action: 'read', id: 'Sm9iOjk' });
    expect([unread.isError, codeOf(unread)]).toEqual([true, 'BAD_USER_INPUT']);
    const { json } = await agent.call('graph_job', { ...EXPORT, operation: '{ account { id } }' });
    expect(json.data?.['startExport']).toMatchObject({ message: expect.any(String) });
  });
});
