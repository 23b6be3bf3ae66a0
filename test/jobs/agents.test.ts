import { describe, expect, it } from 'vitest';
import { Agent, codeOf } from '../support/agent.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { jobWorld } from './job-world.ts';

interface StartedJob {
  readonly id: string;
  readonly state: string;
}

/** A request for each of its rows. */
const STATISTICS = '{ qrCodes { nodes { id statistics { clicks } } } }';

async function worldOfAgent(env: Readonly<Record<string, string>> = {}) {
  const clock = new VirtualClock();
  const world = await jobWorld({ clock, env });
  const agent = new Agent(world.world.url, 'eve');
  const call = async (args: Readonly<Record<string, unknown>>, field: string) => {
    const result = await agent.call('graph_job', args);
    const job = result.json.data?.[field];
    if (!job) throw new Error(codeOf(result) ?? result.text);
    return job as StartedJob;
  };
  return {
    ...world,
    clock,
    start: (operation = STATISTICS) => call({ action: 'start', operation }, 'startExport'),
  };
}

describe('An export of an agent', () => {
  it.each([
    ['its class', '{"agent": {"weight": 0, "maxCallsPerMinute": 3}}', 3, 33],
    ['the class of its caller', '{"default": {"maxCallsPerMinute": 2}}', 2, 22],
  ])('counts in the limit of %s, over a restart', async (_name, classes, inOne, inTen) => {
    const world = await worldOfAgent({ CALLER_CLASSES: classes });
    world.sandbox.links.clearLog();
    const isOfAgent = classes.includes('agent');
    const id = isOfAgent ? (await world.start()).id : await world.exports(STATISTICS);
    for (let second = 0; second < 50; second += 1) await world.clock.advance(1000);
    const sent = () => world.sandbox.links.requests.length;
    expect(sent()).toBe(inOne);
    await world.restart();
    for (let tens = 0; tens < 55; tens += 1) await world.clock.advance(10_000);
    expect(sent()).toBeGreaterThanOrEqual(inOne);
    expect(sent()).toBeLessThanOrEqual(inTen);
    expect((await world.job(id)).state).toBe('RUNNING');
    const { data } = await world.send<{ usage: { rows: { callerClass: string }[] } }>(
      '{ usage(by: [CLASS]) { rows { callerClass } } }',
      {},
      'boss',
    );
    const names = data.usage.rows.map(({ callerClass }) => callerClass);
    expect(names).toContain(isOfAgent ? 'agent' : 'default');
    expect(names).not.toContain('bulk');
  });
});
