import { type Clock, systemClock } from '../../src/scheduling/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';

/** Opens a store in a folder that no other process uses. */
export async function openFolder(folder: string, clock: Clock = systemClock): Promise<Store> {
  const place = { kind: 'folder', folder } as const;
  const opened = await openStore({ place, url: 'http://127.0.0.1:1', clock, complain: () => {} });
  if ('waiting' in opened) throw new Error('another process owns the store');
  return opened.owned.store;
}
