import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { tempFolder } from '../support/folder.ts';
import { describeWith, prlimit } from '../support/needs.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { owned } from './law.ts';

/** Lets this process extend no file beyond a size in bytes, as if its disk were full. */
function limitFiles(size: number | 'unlimited'): void {
  execFileSync(prlimit.path, ['--pid', String(process.pid), `--fsize=${size}:`]);
}

describeWith(prlimit, 'A store on a full disk', () => {
  const root = tempFolder();
  const place = { kind: 'folder', folder: join(root, 'store') } as const;
  afterEach(() => limitFiles('unlimited'));

  it('says so once, and writes everything in the order of its changes when it has space', async () => {
    const clock = new VirtualClock();
    const complaints: string[] = [];
    const complain = (sentence: string) => complaints.push(sentence);
    const opened = await openStore({ place, url: 'http://127.0.0.1:1', clock, complain });
    if (!('owned' in opened)) throw new Error('another process owns the store');
    const { store } = opened.owned;
    store.put('a', 'before');
    store.put('b', 'before');
    await store.committed();

    limitFiles(1);
    store.put('a', 'meanwhile');
    await expect(store.committed()).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
    expect(store.fault).toMatchObject({ fault: 'UNAVAILABLE' });
    // No other process can own it: requests are sent, and the folder says that it lacks them.
    await expect(store.saved()).resolves.toBeUndefined();
    expect(existsSync(join(place.folder, 'complete'))).toBe(false);
    store.delete('b');
    store.put('c', 'meanwhile');
    await expect(store.committed()).rejects.toMatchObject({ fault: 'UNAVAILABLE' });
    await clock.advance(1000);
    expect(complaints).toEqual([expect.stringMatching(/^STATE_DIR .* cannot be used/)]);

    limitFiles('unlimited');
    store.put('a', 'after');
    await clock.advance(1000);
    await expect
      .poll(() =>
        store.committed().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect(store.fault).toBeNull();
    await store.close();

    const { store: next } = await owned(place);
    expect(String(await next.get('a'))).toBe('after');
    expect(next.knownSince).toBe(store.knownSince);
    expect(await next.get('b')).toBeNull();
    expect(String(await next.get('c'))).toBe('meanwhile');
    await next.close();
    expect(complaints).toHaveLength(1);
  });
});
