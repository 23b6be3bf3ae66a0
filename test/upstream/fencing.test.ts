import { expect, it, onTestFinished } from 'vitest';
import { type Batch, StoreError } from '../../src/store/engine.ts';
import { MemoryEngine } from '../../src/store/memory-engine.ts';
import { Store } from '../../src/store/store.ts';
import { startWorld } from '../support/gateway.ts';
import { until } from '../support/uploads.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A database that can fail, or not answer. */
class FragileEngine extends MemoryEngine {
  override readonly isDurable = true;
  override readonly isShared: boolean;
  /** Why it cannot be written. */
  fault: StoreError | null = null;
  /** What a write waits for. */
  gate: Promise<void> | null = null;

  constructor(isShared: boolean) {
    super();
    this.isShared = isShared;
  }

  override async write(batch: Batch): Promise<void> {
    await this.gate;
    if (this.fault) throw this.fault;
    await super.write(batch);
  }
}

const away = new StoreError('UNAVAILABLE', 'The database is away.');
const READ = '{ channels { nodes { id } } }';
const OTHER = '{ pixels { nodes { id } } }';
const WRITE = 'mutation { createChannel(input: { name: "made" }) { __typename } }';

async function start(isShared: boolean) {
  const clock = new VirtualClock();
  const engine = new FragileEngine(isShared);
  const store = new Store({ engine, clock, complain: () => {} });
  const world = await startWorld({
    clock,
    store,
    env: { 'ttl.channels': '1000', staleWhileRevalidateMs: '0', shutdownGraceMs: '0' },
  });
  onTestFinished(() => world.close());
  return { ...world, clock, engine };
}

it('Nothing is sent while a shared store cannot be written, until it can be again', async () => {
  const { ask, calls, clock, engine, forgetCalls } = await start(true);
  const { data } = await ask(READ);
  engine.fault = away;
  forgetCalls();
  await clock.advance(2000);
  // The first learns it from its own slot, the second knows.
  for (const _ of [1, 2]) {
    const read = await ask(OTHER);
    expect(read.errors[0]?.extensions).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      retryAfterMs: 1000,
    });
    const write = await ask(WRITE);
    expect(write.errors[0]?.extensions).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
    // What is cached is served, as while the API is down.
    const cached = await ask(READ);
    expect(cached.data).toEqual(data);
    expect(cached.receipt.stale).toBe(1);
  }
  expect(calls()).toEqual([]);
  expect((await ask('{ rateLimit { used } }')).data).toEqual({ rateLimit: { used: 1 } });
  engine.fault = null;
  await clock.advance(1000);
  expect((await ask(WRITE)).errors).toEqual([]);
  expect(calls()).toHaveLength(1);
});

it('Requests go on while a store that no other process can own cannot be written', async () => {
  const { ask, calls, engine } = await start(false);
  engine.fault = away;
  expect((await ask(READ)).errors).toEqual([]);
  expect((await ask(WRITE)).errors).toEqual([]);
  expect(calls()).toHaveLength(2);
});

it('Nothing is sent by a process that owns its store no more', async () => {
  const { ask, calls, engine } = await start(false);
  engine.fault = new StoreError('LOST', 'The folder was removed.');
  for (const text of [READ, WRITE]) {
    expect((await ask(text)).errors[0]?.extensions?.code).toBe('UPSTREAM_UNAVAILABLE');
  }
  expect(calls()).toEqual([]);
});

it('A request leaves only when its slot is saved, and not if nobody waits for it then', async () => {
  const { ask, calls, engine } = await start(true);
  for (const isWanted of [true, false]) {
    let open = (): void => {};
    engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    const caller = new AbortController();
    const answer = ask(isWanted ? READ : OTHER, {}, {}, caller.signal).catch(() => null);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(calls()).toHaveLength(isWanted ? 0 : 1);
    if (!isWanted) caller.abort();
    open();
    await answer;
    engine.gate = null;
  }
  await until(async () => {
    const { data } = await ask<{ rateLimit: { used: number } }>('{ rateLimit { used } }');
    return data.rateLimit.used === 1;
  });
  expect(calls()).toHaveLength(1);
});
