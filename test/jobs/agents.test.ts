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
    cancel: (id: string) => call({ action: 'cancel', id }, 'cancelJob'),
  };
}

describe('An export of an agent', () => {
  it('starts anew after it was canceled, once for all calls, as often as that happens', async () => {
    const world = await worldOfAgent();
    const ids = new Set<string>();
    for (let times = 0; times < 3; times += 1) {
      const [one, other] = await Promise.all([world.start(), world.start()]);
      expect(one.id).toBe(other.id);
      expect((await world.start()).id).toBe(one.id);
      ids.add(one.id);
      expect((await world.cancel(one.id)).state).toBe('CANCELED');
    }
    expect(ids.size).toBe(3);
  });

  it('starts anew after it has failed', async () => {
    const world = await worldOfAgent();
    world.sandbox.links.fault({ kind: 'html', path: '/api/qr' });
    const { id } = await world.start();
    await world.reaches(id, ({ state }) => state === 'FAILED');
    const again = await world.start();
    expect(again.id).not.toBe(id);
    expect(again.state).toBe('QUEUED');
  });

  it('starts anew after it has expired, and is found as long as it has a file', async () => {
    const world = await worldOfAgent({ jobsKeepMs: '60000' });
    const { id } = await world.start('{ channels { nodes { id } } }');
    await world.until(id, 'DONE');
    expect((await world.start('{ channels { nodes { id } } }')).id).toBe(id);
    await world.clock.advance(61_000);
    await world.reaches(id, ({ state }) => state === 'EXPIRED');
    expect((await world.start('{ channels { nodes { id } } }')).id).not.toBe(id);
  });

  it.each([
    ['its class per day', '{"agent": {"maxCallsPerDay": 5}}', 5, 5],
    ['its class per minute', '{"agent": {"weight": 0, "maxCallsPerMinute": 3}}', 3, 33],
    ['the class of its caller per day', '{"default": {"maxCallsPerDay": 7}}', 7, 7],
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
