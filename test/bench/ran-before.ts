import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/scheduling/clock.ts';
import { openFolder } from '../support/store.ts';

const HOUR_MS = 3_600_000;

/**
 * A folder in which a process has left that it ran long enough to know what was spent, which is nothing:
 * the very first start leaves half of the limit alone, and is not what is measured here.
 */
export async function ranBefore(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'ran-before-'));
  const earlier = { ...systemClock, wall: () => systemClock.wall() - HOUR_MS };
  const store = await openFolder(join(folder, 'store'), earlier);
  await store.close();
  return folder;
}
