import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { headLine, RELEASED_LINE } from '../../src/upstream/budget/journal/lease-lines.ts';

/**
 * A folder in which a process has left that it ran long enough to know what was spent, which is nothing:
 * the very first start leaves half of the limit alone, and is not what is measured here.
 */
export function ranBefore(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ran-before-'));
  const moment = { now: 0, wall: Date.now() };
  writeFileSync(
    join(folder, 'leases.log'),
    headLine('earlier/0/-/0', null, moment) + RELEASED_LINE,
  );
  return folder;
}
