import * as fc from 'fast-check';
import { expect } from 'vitest';
import { systemClock } from '../../src/scheduling/clock.ts';
import { type OwnedStore, openStore, type StorePlace } from '../../src/store/open-store.ts';

/** Opens a store that nobody else owns. */
export async function owned(
  place: StorePlace,
  complain: (sentence: string) => void = () => {},
): Promise<OwnedStore> {
  const opened = await openStore({
    place,
    url: 'http://127.0.0.1:1',
    clock: systemClock,
    complain,
  });
  if ('waiting' in opened) throw new Error('another process owns the store');
  return opened.owned;
}

/** A key of few, so that steps meet. */
const key = fc.integer({ min: 0, max: 30 }).map((n) => `law/${String(n).padStart(2, '0')}`);
const value = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const bound = fc.integer({ min: 0, max: 31 }).map((n) => `law/${String(n).padStart(2, '0')}`);

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), key, value }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), key }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('clear' as const), from: bound, to: bound }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'turn' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'commit' as const }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('read' as const),
        from: bound,
        to: bound,
        reverse: fc.boolean(),
        limit: fc.integer({ min: 1, max: 40 }),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
  ),
  { maxLength: 60 },
);

/** Any changes, in any order and over restarts, leave what a map would have. */
export async function holdsWhatAMapHolds(place: StorePlace, runs: number): Promise<void> {
  const canReopen = place.kind !== 'memory';
  await fc.assert(
    fc.asyncProperty(steps, async (chosen) => {
      const model = new Map<string, Buffer>();
      let { store } = await owned(place);
      store.clear({ from: 'law/', to: 'law0' });
      for (const step of chosen) {
        switch (step.kind) {
          case 'put':
            store.put(step.key, step.value);
            model.set(step.key, step.value);
            break;
          case 'delete':
            store.delete(step.key);
            model.delete(step.key);
            break;
          case 'clear':
            store.clear(step);
            for (const each of model.keys()) {
              if (each >= step.from && each < step.to) model.delete(each);
            }
            break;
          case 'turn':
            await new Promise((resolve) => setImmediate(resolve));
            break;
          case 'commit':
            await store.committed();
            break;
          case 'read': {
            const keys = [...model.keys()]
              .filter((each) => each >= step.from && each < step.to)
              .sort();
            if (step.reverse) keys.reverse();
            const wanted = keys.slice(0, step.limit).map((each) => [each, model.get(each)]);
            expect(await all(store.read(step))).toEqual(wanted);
            break;
          }
          case 'reopen':
            if (!canReopen) break;
            await store.close();
            ({ store } = await owned(place));
        }
      }
      const read = await all(store.read({ from: 'law/', to: 'law0' }));
      expect(new Map(read)).toEqual(model);
      await store.close();
    }),
    { numRuns: runs },
  );
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const each of values) list.push(each);
  return list;
}
