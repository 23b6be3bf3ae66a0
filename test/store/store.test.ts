import { expect, it } from 'vitest';
import type { Batch } from '../../src/store/engine.ts';
import { MemoryEngine } from '../../src/store/memory-engine.ts';
import { Store } from '../../src/store/store.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A database in memory whose writes can be held or fail, as those of a disk. */
class MoodyEngine extends MemoryEngine {
  readonly batches: Batch[] = [];
  isFull = false;
  /** Each write waits for it. */
  gate: Promise<void> = Promise.resolve();

  override async write(batch: Batch): Promise<void> {
    await this.gate;
    if (this.isFull) throw new Error('ENOSPC');
    this.batches.push(batch);
    await super.write(batch);
  }
}

function stage() {
  const engine = new MoodyEngine();
  const clock = new VirtualClock();
  const complaints: string[] = [];
  const store = new Store({ engine, clock, complain: (sentence) => complaints.push(sentence) });
  return { engine, clock, complaints, store };
}

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('refuses what waits behind a failed write, and writes both as soon as it can', async () => {
  const { clock, complaints, engine, store } = stage();
  const held = gate();
  engine.gate = held.opened;
  engine.isFull = true;
  store.put('first', '1');
  const first = store.committed();
  await turn();
  store.put('second', '2');
  const second = store.committed();
  held.open();
  await expect(first).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
  await expect(second).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
  await expect(store.committed()).rejects.toMatchObject({ message: 'ENOSPC' });
  engine.isFull = false;
  await clock.advance(1000);
  expect(String(await store.get('first'))).toBe('1');
  expect(String(await store.get('second'))).toBe('2');
  expect(engine.batches).toHaveLength(1);
  expect(complaints).toEqual(['ENOSPC']);
});

it('writes the changes of one turn in one transaction, even if another ends in this turn', async () => {
  const { engine, store } = stage();
  const held = gate();
  engine.gate = held.opened;
  store.put('before', '');
  const before = store.committed();
  await turn();
  held.open();
  store.put('one', '1');
  await before;
  await Promise.resolve();
  store.put('two', '2');
  await store.committed();
  expect(engine.batches.map(({ values }) => [...values.keys()])).toEqual([
    ['before'],
    ['one', 'two'],
  ]);
});

it('holds a bounded size of changes while a write hangs, and is lost then', async () => {
  const { complaints, engine, store } = stage();
  engine.gate = new Promise(() => {});
  store.put('hangs', '');
  await turn();
  for (let n = 0; n < 65; n += 1) store.put(`large/${n}`, Buffer.alloc(1024 * 1024));
  await expect(store.lost).resolves.toMatchObject({ fault: 'LOST' });
  await expect(store.committed()).rejects.toMatchObject({ fault: 'LOST' });
  expect(complaints).toEqual([expect.stringContaining('Too many changes')]);
});

it('writes what could not be written before when it closes, and nothing afterwards', async () => {
  const { engine, store } = stage();
  engine.isFull = true;
  store.put('a', '1');
  await expect(store.committed()).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
  engine.isFull = false;
  await store.close();
  expect(engine.batches).toHaveLength(1);
  store.put('a', '2');
  await expect(store.committed()).rejects.toMatchObject({ fault: 'LOST' });
  await turn();
  expect(engine.batches).toHaveLength(1);
});

it('writes nothing after it was closed, though it could not write before', async () => {
  const { clock, engine, store } = stage();
  engine.isFull = true;
  store.put('kept', '1');
  await expect(store.committed()).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
  await store.close();
  engine.isFull = false;
  // Another process may own it now.
  await clock.advance(5000);
  expect(engine.batches).toEqual([]);
});
