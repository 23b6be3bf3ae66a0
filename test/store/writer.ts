import { inBackground } from '../../src/scheduling/at-once.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { openStore } from '../../src/store/open-store.ts';

/** Writes two values a transaction, and tells each number once it is committed, until the process is killed. */
async function write(folder: string, first: number): Promise<void> {
  const opened = await openStore({
    place: { kind: 'folder', folder },
    url: 'http://127.0.0.1:1',
    clock: systemClock,
    complain: (sentence) => {
      throw new Error(sentence);
    },
  });
  if (!('owned' in opened)) throw new Error('another process owns the store');
  const { store } = opened.owned;
  for (let n = first + 1; ; n += 1) {
    store.put('storm/last', String(n));
    store.put('storm/twin', String(n));
    store.put(`storm/large/${n % 50}`, Buffer.alloc(20_000, n));
    await store.committed();
    process.send?.(n);
  }
}

const [, , folder = '', first = '0'] = process.argv;
inBackground(write(folder, Number(first)));
