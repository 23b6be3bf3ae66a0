import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { JobStorageFailed, JobStorageFull } from '../../../src/jobs/storage/storage-errors.ts';
import {
  contentOf,
  copies,
  folderAt,
  onlyJobAt,
  openFilesIn,
  removeScratch,
  scratch,
} from './job-stage.ts';

afterEach(() => {
  vi.restoreAllMocks();
  removeScratch();
});

async function begin(terms: Parameters<typeof folderAt>[1] = {}) {
  const root = scratch();
  const folder = folderAt(root, terms);
  const files = await folder.create('a-1', { mark: 'new' });
  return { root, folder, files, path: join(root, 'a-1') };
}

/** The name of each file that is saved to the disk from now on, in order, with the mark of the record then. */
async function watchSaves(path: string): Promise<string[]> {
  const probe = await open(path, 'r');
  const prototype = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  const saves: string[] = [];
  for (const method of ['datasync', 'sync'] as const) {
    const own = prototype[method];
    vi.spyOn(prototype, method).mockImplementation(function (this: FileHandle) {
      const name = basename(readlinkSync(`/proc/self/fd/${this.fd}`));
      const { record } = JSON.parse(readFileSync(join(path, 'job.json'), 'utf8'));
      saves.push(`${name} while ${record.mark}`);
      return own.call(this);
    });
  }
  return saves;
}

describe('a checkpoint', () => {
  it('reaches the disk after the output that it counts, and then by its name', async () => {
    const { files, path } = await begin();
    await files.append('1\n');
    await files.appendSeen(['1']);
    const saves = await watchSaves(path);
    await files.checkpoint({ mark: 'next' });
    expect(saves).toEqual([
      'data.jsonl while new',
      'seen while new',
      'job.json.new while new',
      'a-1 while next',
    ]);
  });

  it('is what counts: what was appended after it is not output yet', async () => {
    const { files } = await begin();
    await files.append('1\n');
    expect(files.outputBytes).toBe(0);
    await files.checkpoint({ mark: 'one' });
    await files.append('2\n');
    expect(files.outputBytes).toBe(2);
    expect(files.record.mark).toBe('one');
    expect(await contentOf(files)).toEqual({ mark: 'one', data: '1\n', seen: [] });
  });

  it('holds no file open after it', async () => {
    const { files, root } = await begin();
    await files.append('1\n');
    await files.appendSeen(['1']);
    expect(openFilesIn(root)).toHaveLength(2);
    await files.checkpoint({ mark: 'one' });
    expect(openFilesIn(root)).toEqual([]);
  });

  it('is saved after all that was appended before, without waiting for it', async () => {
    const { files } = await begin();
    const all = [files.append('1\n'), files.appendSeen(['1']), files.append('2\n')];
    await files.checkpoint({ mark: 'one' });
    await Promise.all(all);
    expect(await contentOf(files)).toEqual({ mark: 'one', data: '1\n2\n', seen: ['1'] });
  });
});

describe('a failed write', () => {
  it('leaves the last checkpoint, and takes what came after it away', async () => {
    const { files, path } = await begin();
    await files.append('1\n');
    await files.checkpoint({ mark: 'one' });
    rmSync(join(path, 'seen'), { force: true });
    mkdirSync(join(path, 'seen'));
    await files.append('2\n');
    await expect(files.appendSeen(['2'])).rejects.toThrow(new JobStorageFailed('EISDIR'));
    expect(statSync(join(path, 'data.jsonl')).size).toBe(2);
    rmSync(join(path, 'seen'), { recursive: true });
    // A record with a reason is saved with the output of before.
    await files.checkpoint({ mark: 'paused' });
    expect(await contentOf(files)).toEqual({ mark: 'paused', data: '1\n', seen: [] });
    await files.append('2\n');
    await files.checkpoint({ mark: 'two' });
    expect(await contentOf(files)).toEqual({ mark: 'two', data: '1\n2\n', seen: [] });
  });

  it('fails what was called before it was reported, so that no checkpoint counts a part', async () => {
    const { files, path } = await begin();
    mkdirSync(join(path, 'seen'));
    const results = await Promise.allSettled([
      files.append('1\n'),
      files.appendSeen(['1']),
      files.append('2\n'),
      files.checkpoint({ mark: 'one' }),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ]);
    rmSync(join(path, 'seen'), { recursive: true });
    expect(await contentOf(files)).toEqual({ mark: 'new', data: '', seen: [] });
  });

  it('of the record leaves output and record of before', async () => {
    const { files, path, root } = await begin();
    mkdirSync(join(path, 'job.json.new'));
    await files.append('1\n');
    await expect(files.checkpoint({ mark: 'one' })).rejects.toThrow(JobStorageFailed);
    expect(files.record.mark).toBe('new');
    rmSync(join(path, 'job.json.new'), { recursive: true });
    expect(await contentOf(files)).toEqual({ mark: 'new', data: '', seen: [] });
    expect(await contentOf(await onlyJobAt(root))).toEqual({ mark: 'new', data: '', seen: [] });
  });

  it('names no path', async () => {
    const { files, path, root } = await begin();
    rmSync(path, { recursive: true });
    const error = await files.append('1\n').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(JobStorageFailed);
    expect(String(error)).toContain('ENOENT');
    expect(String(error)).not.toContain(root);
  });
});

describe('the limit of all jobs', () => {
  it('refuses output beyond it, and takes the rest of the step away', async () => {
    const { files, folder } = await begin({ maxBytes: 1000 });
    const room = 1000 - folder.bytes;
    await files.append(`${'x'.repeat(room - 1)}\n`);
    await expect(files.append('\n')).rejects.toThrow(JobStorageFull);
    await files.checkpoint({ mark: 'old' });
    expect(files.outputBytes).toBe(0);
    expect(folder.bytes).toBeLessThan(1000);
    await files.append('1\n');
    await files.checkpoint({ mark: 'one' });
    expect(files.outputBytes).toBe(2);
  });

  it('does not refuse a record that says so', async () => {
    const { files, folder } = await begin({ maxBytes: 1000 });
    await files.append(`${'x'.repeat(999 - folder.bytes)}\n`);
    await files.checkpoint({ mark: 'full' });
    const mark = 'paused since there is no space';
    await files.checkpoint({ mark });
    expect(files.record.mark).toBe(mark);
    expect(folder.bytes).toBeGreaterThan(1000);
    await expect(files.append('1\n')).rejects.toThrow(/limit of 1000 bytes/);
    await expect(folder.create('a-2', { mark: 'new' })).rejects.toThrow(JobStorageFull);
  });

  it('is of all jobs together, and has room again without one of them', async () => {
    const { files, folder } = await begin({ maxBytes: 2000 });
    const other = await folder.create('a-2', { mark: 'new' });
    await files.append(`${'x'.repeat(1200)}\n`);
    await files.checkpoint({ mark: 'one' });
    await expect(other.append(`${'x'.repeat(800)}\n`)).rejects.toThrow(JobStorageFull);
    await folder.remove('a-1');
    await other.append(`${'x'.repeat(800)}\n`);
  });

  it('counts all files, as the next process does', async () => {
    const { files, folder, path, root } = await begin();
    await files.append('12345\n');
    await files.appendSeen(['1', '2']);
    await files.checkpoint({ mark: 'a longer mark' });
    const onDisk = ['job.json', 'data.jsonl', 'seen'].map(
      (name) => statSync(join(path, name)).size,
    );
    const sum = onDisk.reduce((one, other) => one + other);
    expect([folder.bytes, files.bytes]).toEqual([sum, sum]);
    const next = folderAt(root);
    await next.load();
    expect(next.bytes).toBe(sum);
  });
});

describe('output', () => {
  it('consists of whole lines', async () => {
    const { files } = await begin();
    await expect(files.append('1\n2')).rejects.toThrow(TypeError);
    await files.append('');
    await files.append('1\n');
    expect((await contentOf(files)).data).toBe('');
  });

  it('is read up to the checkpoint at which it was opened, while it grows', async () => {
    const { files } = await begin();
    await files.append('1\n');
    await files.checkpoint({ mark: 'one' });
    const reader = await files.openData();
    await files.append('2\n');
    await files.checkpoint({ mark: 'two' });
    const all = await buffer(copies(reader?.pieces(0, 100) ?? []));
    expect([reader?.size, all.toString()]).toEqual([2, '1\n']);
    await reader?.close();
  });

  it('that is discarded can be read on, and leaves the record', async () => {
    const { files, folder, path, root } = await begin();
    await files.append('1\n');
    await files.appendSeen(['1']);
    await files.checkpoint({ mark: 'done' });
    const reader = await files.openData();
    await files.discardOutput();
    expect((await buffer(copies(reader?.pieces(0, 2) ?? []))).toString()).toBe('1\n');
    await reader?.close();
    expect([files.outputBytes, await files.openData()]).toEqual([null, null]);
    expect(folder.bytes).toBe(statSync(join(path, 'job.json')).size);
    await expect(files.append('2\n')).rejects.toThrow(JobStorageFailed);
    await files.checkpoint({ mark: 'expired' });
    const next = await onlyJobAt(root);
    expect([next.record.mark, next.outputBytes]).toEqual(['expired', null]);
  });

  it('is a table if the record says so', async () => {
    const root = scratch();
    const files = await folderAt(root).create('a', { mark: 'new', output: 'data.csv' });
    await files.append('id\r\n');
    await files.checkpoint({ mark: 'one', output: 'data.csv' });
    expect(readFileSync(join(root, 'a', 'data.csv'), 'utf8')).toBe('id\r\n');
    expect((await contentOf(await onlyJobAt(root))).data).toBe('id\r\n');
  });
});

describe('the rows that were seen', () => {
  it('are any strings, in their order', async () => {
    const anyUnits = fc
      .array(fc.oneof(fc.nat(0xffff), fc.constantFrom(10, 13, 34, 92, 0xd800)), { maxLength: 6 })
      .map((units) => String.fromCharCode(...units));
    await fc.assert(
      fc.asyncProperty(fc.array(anyUnits, { maxLength: 20 }), async (names) => {
        const { files } = await begin();
        await files.appendSeen(names.slice(0, 3));
        await files.appendSeen(names.slice(3));
        await files.checkpoint({ mark: 'one' });
        expect((await contentOf(files)).seen).toEqual(names);
      }),
      { numRuns: 100 },
    );
  });

  it('are a line each, as they are', async () => {
    const { files, path } = await begin();
    await files.appendSeen(['12', 'a b', '"', '']);
    await files.checkpoint({ mark: 'one' });
    expect(readFileSync(join(path, 'seen'), 'utf8')).toBe('12\na b\n"\\""\n""\n');
  });
});

describe('another owner of the folder', () => {
  it('is left what it has written', async () => {
    let isOwned = true;
    const { files, folder, path } = await begin({ isOwned: () => isOwned });
    await files.append('1\n');
    isOwned = false;
    for (const method of [
      () => files.append('2\n'),
      () => files.appendSeen(['2']),
      () => files.checkpoint({ mark: 'two' }),
      () => files.resume(),
      () => files.discardOutput(),
      () => folder.remove('a-1'),
      () => folder.create('a-2', { mark: 'new' }),
    ]) {
      await expect(method()).rejects.toThrow(/another process/);
    }
    expect(readFileSync(join(path, 'data.jsonl'), 'utf8')).toBe('1\n');
    await files.close();
  });
});
