import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { JobStorageFull } from '../../../src/jobs/storage/storage-errors.ts';
import { contentOf, folderAt, onlyJobAt, removeScratch, scratch } from './job-stage.ts';

/** A small disk; `null` where this user may not make one. */
const disk = mounted(scratch());
afterAll(() => {
  if (disk) execFileSync('umount', [disk]);
  removeScratch();
});

function mounted(path: string): string | null {
  try {
    const terms = ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path];
    execFileSync('mount', terms, { stdio: 'ignore' });
    return path;
  } catch {
    return null;
  }
}

describe.skipIf(disk === null)('a full disk', () => {
  const root = join(disk ?? '', 'jobs');
  const line = `${'x'.repeat(999)}\n`;

  it('ends a step at its last checkpoint, which can be saved with the reason', async () => {
    const files = await folderAt(root).create('a', { mark: 'new' });
    let lines = 0;
    const fill = async () => {
      for (;;) {
        await files.append(line.repeat(5));
        await files.append(line.repeat(5));
        await files.checkpoint({ mark: String(lines + 10) });
        lines += 10;
      }
    };
    const error = await fill().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(JobStorageFull);
    expect(String(error)).toContain('ENOSPC');
    expect(lines).toBeGreaterThan(10);
    await files.checkpoint({ mark: 'paused' });
    const expected = { mark: 'paused', data: line.repeat(lines), seen: [] };
    expect(await contentOf(files)).toEqual(expected);
    expect(await contentOf(await onlyJobAt(root))).toEqual(expected);
    expect(readFileSync(join(root, 'a', 'data.jsonl'), 'utf8')).toBe(expected.data);
  });
});
