import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import { createChannel } from '../../../src/links/content/channel.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { Disk, KeyedProcess, keyedSandbox, newKey, outcome, received } from './keyed-world.ts';

const ADD = '/api/channel/add';
const DAY = 86_400_000;
/** A write that leaves no evidence. */
const summer = { ...createChannel({ name: 'Summer' }), evidence: null };

let sandbox: Sandbox;
let disk: Disk;
let key: string;

beforeEach(async () => {
  sandbox = await keyedSandbox();
  disk = new Disk();
  key = newKey();
});

/** A process on the disk. The one before it was killed: nothing of it was closed. */
function start(more: Parameters<typeof KeyedProcess.start>[1] = {}): Promise<KeyedProcess> {
  return KeyedProcess.start(sandbox, { disk, ...more });
}

/** Executes the write in a process that ends when its caller is told the result. */
async function execute(name = key): Promise<{ readonly id: number }> {
  const process = await start();
  return process.call({ key: name }).links.write(summer);
}

const codeOf = (value: unknown): unknown => (value instanceof GatewayError ? value.code : value);
/** The code of the error of the write in a process. */
const codeIn = async (process: KeyedProcess, name = key) =>
  codeOf(await outcome(process.call({ key: name }).links.write(summer)));

describe('the records in the store', () => {
  it('replay an outcome in the next process without a request', async () => {
    const made = await execute();
    const next = await start();
    const again = next.call({ key });
    expect(await again.links.write(summer)).toEqual(made);
    expect(again.report).toMatchObject({ outcome: 'REPLAYED', upstreamCalls: 0 });
    expect(received(sandbox)).toHaveLength(1);
    const reused = next.call({ key, content: 'other' }).links.write(summer);
    expect(codeOf(await outcome(reused))).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('belong to the base URL of the API', async () => {
    const made = await execute();
    const other = await start({ baseUrl: sandbox.links.url.replace('127.0.0.1', 'localhost') });
    const again = other.call({ key });
    const { id } = await again.links.write(summer);
    expect(id).not.toBe(made.id);
    expect(again.report?.outcome).toBe('EXECUTED');
  });

  it('say that a request was sent whose process was killed', async () => {
    sandbox.links.fault({ kind: 'hang', path: ADD, times: 1 });
    const first = await start();
    // Nobody is told its result.
    void outcome(first.call({ key }).links.write(summer));
    await expect.poll(() => received(sandbox).length).toBe(1);
    const next = await start();
    expect(next.records.gauges.ambiguous).toBe(1);
    expect(await codeIn(next)).toBe('OUTCOME_UNKNOWN');
    expect(received(sandbox)).toHaveLength(1);
    await first.clock.advance(60_000);
    expect((await start()).records.gauges.ambiguous).toBe(1);
  });

  it('do not say so of a request that was refused for the rate limit', async () => {
    sandbox.links.fault({ kind: 'refuse-429', path: ADD, times: 1 });
    const first = await start();
    const refused = outcome(first.call({ key, maxWaitMs: 100 }).links.write(summer));
    await first.clock.advance(200);
    expect(codeOf(await refused)).toBe('BUDGET_EXHAUSTED');
    await (await start()).call({ key }).links.write(summer);
    expect(received(sandbox)).toHaveLength(2);
  });

  it('reveal neither the key nor the caller nor the input', async () => {
    const process = await start();
    const called = process.call({ key, who: 'the-caller' });
    await called.links.write(createChannel({ name: 'Summer' }));
    await process.clock.settle();
    const text = [...(await disk.rows())].flat().join('\n');
    expect(text).toContain('createChannel');
    expect(text).not.toContain(key);
    expect(text).not.toContain('the-caller');
    expect(text).not.toContain(sandbox.links.key);
  });

  it('are not trusted to be complete after a loss: no unknown key is just executed', async () => {
    await execute();
    disk.lose();
    const next = await start();
    expect(await codeIn(next)).not.toBe('OUTCOME_UNKNOWN');
    const lost = newKey();
    expect(await codeIn(next, lost)).toBe('OUTCOME_UNKNOWN');
    // Also in the process after that, until the loss is older than a key is kept.
    const later = await start();
    expect(await codeIn(later, lost)).toBe('OUTCOME_UNKNOWN');
    expect(received(sandbox)).toHaveLength(1);
    await later.clock.advance(DAY);
    await later.call({ key: lost }).links.write(summer);
    expect(received(sandbox)).toHaveLength(2);
  });

  it('are not trusted if the secret of their names is damaged', async () => {
    await execute();
    await disk.change(new Map([['keys', '{']]));
    for (const complaints of [1, 0]) {
      const next = await start();
      expect(next.complaints).toHaveLength(complaints);
      await next.clock.settle();
      expect(await codeIn(next)).toBe('OUTCOME_UNKNOWN');
    }
    expect(received(sandbox)).toHaveLength(1);
  });

  it.each([
    ['of another version', (text: string) => text.replace('"format":1', '"format":2')],
    ['that are damaged', (text: string) => text.slice(1)],
  ])('%s are kept and never executed', async (_, change) => {
    await execute();
    const rows = [...(await disk.rows())].filter(([name]) => name.startsWith('key/'));
    expect(rows).toHaveLength(1);
    await disk.change(new Map(rows.map(([name, text]) => [name, change(text)])));
    for (let run = 0; run < 2; run += 1) {
      const next = await start();
      expect(next.complaints).toEqual([expect.stringContaining('another version: 1.')]);
      expect(await codeIn(next)).toBe('OUTCOME_UNKNOWN');
    }
    expect(received(sandbox)).toHaveLength(1);
  });

  it('are kept while the wall clock is set forward or back between two processes', async () => {
    const made = await execute();
    for (const jump of [40 * DAY, -80 * DAY]) {
      const clock = new VirtualClock();
      clock.jumpWall(jump);
      expect(await (await start({ clock })).call({ key }).links.write(summer)).toEqual(made);
    }
    expect(received(sandbox)).toHaveLength(1);
  });

  it('end after their time, also in the store', async () => {
    const first = await start();
    await first.call({ key }).links.write(summer);
    await first.clock.advance(DAY - 1);
    await first.call({ key }).links.write(summer);
    expect(received(sandbox)).toHaveLength(1);
    await first.clock.advance(1);
    await first.call({ key: newKey() }).links.write(summer);
    await first.clock.settle();
    const names = [...(await disk.rows()).keys()].filter((name) => name.startsWith('key/'));
    expect(names).toHaveLength(1);
    await first.call({ key }).links.write(summer);
    expect(received(sandbox)).toHaveLength(3);
  });

  it('say that an older key may have been used after one was removed for lack of space', async () => {
    const first = await start({ maxBytes: 1000 });
    const madeAt = first.clock.wall();
    await first.clock.advance(1);
    await first.call({ key, madeAt }).links.write(summer);
    await first.clock.advance(1);
    await first.call({ key: newKey() }).links.write(summer);
    await first.clock.advance(1);
    await first.call({ key: newKey() }).links.write(summer);
    await first.clock.settle();
    const next = await start({ clock: first.clock });
    const again = next.call({ key, madeAt }).links.write(summer);
    expect(codeOf(await outcome(again))).toBe('OUTCOME_UNKNOWN');
    expect(received(sandbox)).toHaveLength(3);
  });
});
