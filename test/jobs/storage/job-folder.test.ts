import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { JobStorageFailed } from '../../../src/jobs/storage/storage-errors.ts';
import { contentOf, folderAt, openFilesIn, removeScratch, scratch } from './job-stage.ts';

afterEach(removeScratch);

/** Loads a folder, and returns its jobs with what the operator is told. */
async function loaded(root: string) {
  const sentences: string[] = [];
  const folder = folderAt(root, { complain: (sentence) => sentences.push(sentence) });
  const jobs = await folder.load();
  return { folder, jobs, ids: jobs.map(({ id }) => id), sentences };
}

describe('a folder of jobs', () => {
  it('is created, for this user alone, like all in it', async () => {
    const root = join(scratch(), 'state', 'jobs');
    const files = await folderAt(root).create('a', { mark: 'new' });
    await files.append('1\n');
    await files.appendSeen(['1']);
    await files.checkpoint({ mark: 'one' });
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect([modeOf(root), modeOf(join(root, 'a'))]).toEqual(['700', '700']);
    const names = readdirSync(join(root, 'a')).sort();
    expect(names).toEqual(['data.jsonl', 'job.json', 'seen']);
    for (const name of names) expect(modeOf(join(root, 'a', name))).toBe('600');
  });

  it('is empty at first', async () => {
    const { folder, jobs } = await loaded(join(scratch(), 'jobs'));
    expect([jobs, folder.bytes]).toEqual([[], 0]);
  });

  it('that cannot be read has no jobs, is reported, and fails to create one', async () => {
    const root = join(scratch(), 'jobs');
    writeFileSync(root, '');
    const reports: string[] = [];
    const folder = folderAt(root, { complain: (sentence) => reports.push(sentence) });
    expect(await folder.load()).toEqual([]);
    expect(reports).toEqual([`${root}: jobs cannot be used (EEXIST).`]);
    await expect(folder.create('a', { mark: 'new' })).rejects.toThrow(JobStorageFailed);
  });

  it('accepts no id that could be another path', async () => {
    const folder = folderAt(scratch());
    for (const id of ['', '..', 'a/b', 'A', 'a.new', 'a'.repeat(41), 'a\n']) {
      await expect(folder.create(id, { mark: 'new' })).rejects.toThrow(TypeError);
      await folder.remove(id);
    }
  });

  it('has each job once', async () => {
    const folder = folderAt(scratch());
    await folder.create('a', { mark: 'new' });
    await expect(folder.create('a', { mark: 'other' })).rejects.toThrow(JobStorageFailed);
  });
});

describe('at the start', () => {
  it('damaged jobs are reported, once each, and left alone; the others are loaded', async () => {
    const root = scratch();
    const folder = folderAt(root);
    const kinds = ['a-good', 'b-cut', 'c-text', 'd-version', 'e-record', 'f-missing', 'g-good'];
    for (const id of kinds) {
      const files = await folder.create(id, { mark: id });
      await files.append('1\n');
      await files.checkpoint({ mark: id });
    }
    const change = (id: string, from: string, to: string) => {
      const path = join(root, id, 'job.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
    };
    truncateSync(join(root, 'b-cut', 'data.jsonl'), 1);
    change('c-text', '}', '');
    change('d-version', '"format":1', '"format":2');
    change('e-record', '"mark":"e-record"', '"mark":1');
    renameSync(join(root, 'f-missing', 'job.json'), join(root, 'f-missing', 'other'));
    const before = readdirSync(root, { recursive: true });
    const { ids, sentences } = await loaded(root);
    expect(ids).toEqual(['a-good', 'g-good']);
    expect(sentences.map((each) => each.replace(root, '')).sort()).toEqual([
      '/b-cut: this job cannot be used and is skipped (a file is shorter than at the last checkpoint).',
      '/c-text: this job cannot be used and is skipped (job.json is damaged).',
      '/d-version: this job cannot be used and is skipped (it has another version).',
      '/e-record: this job cannot be used and is skipped (it has no mark).',
      '/f-missing: this job cannot be used and is skipped (job.json is missing).',
    ]);
    expect(readdirSync(root, { recursive: true })).toEqual(before);
  });

  it('what was left behind is removed, and nothing else', async () => {
    const root = scratch();
    await folderAt(root).create('a', { mark: 'new' });
    writeFileSync(join(root, 'a', 'job.json.new'), '{');
    for (const name of ['b.new', 'c.old']) {
      mkdirSync(join(root, name));
      writeFileSync(join(root, name, 'data.jsonl'), '1\n');
    }
    mkdirSync(join(root, 'd.new'));
    writeFileSync(join(root, 'd.new', 'thesis.txt'), '');
    mkdirSync(join(root, 'Photos'));
    writeFileSync(join(root, 'notes'), '');
    const { ids, sentences } = await loaded(root);
    expect(ids).toEqual(['a']);
    expect(sentences.map((each) => each.replace(root, ''))).toEqual([
      expect.stringMatching(/^\/d\.new: .*ENOTEMPTY/),
    ]);
    expect(readdirSync(root).sort()).toEqual(['Photos', 'a', 'd.new', 'notes']);
    expect(readdirSync(join(root, 'a'))).toEqual(['job.json']);
    expect(existsSync(join(root, 'd.new', 'thesis.txt'))).toBe(true);
  });

  it('the output of a job that was being discarded is removed', async () => {
    const root = scratch();
    const files = await folderAt(root).create('a', { mark: 'done' });
    await files.append('1\n');
    await files.appendSeen(['1']);
    await files.checkpoint({ mark: 'done' });
    const copy = scratch();
    cpSync(root, copy, { recursive: true });
    await files.discardOutput();
    cpSync(join(root, 'a', 'job.json'), join(copy, 'a', 'job.json'));
    const { jobs } = await loaded(copy);
    expect(jobs[0]?.outputBytes).toBeNull();
    expect(readdirSync(join(copy, 'a'))).toEqual(['job.json']);
  });
});

describe('a job that is removed', () => {
  it('is gone with its bytes, and does not work any more', async () => {
    const root = scratch();
    const folder = folderAt(root);
    const files = await folder.create('a', { mark: 'new' });
    await files.append('1\n');
    const [append] = await Promise.allSettled([files.append('2\n'), folder.remove('a')]);
    expect(append.status).toBe('fulfilled');
    expect([readdirSync(root), folder.bytes, openFilesIn(root)]).toEqual([[], 0, []]);
    await expect(files.append('3\n')).rejects.toThrow(/removed/);
    expect(readdirSync(root)).toEqual([]);
    await folder.create('a', { mark: 'other' });
    expect(await contentOf(files).catch(() => 'gone')).toBe('gone');
  });

  it('can be read on', async () => {
    const folder = folderAt(scratch());
    const files = await folder.create('a', { mark: 'new' });
    await files.append('1\n');
    await files.checkpoint({ mark: 'one' });
    const reader = await files.openData();
    await folder.remove('a');
    const read: string[] = [];
    for await (const piece of reader?.pieces(0, 2) ?? []) read.push(piece.toString());
    expect(read).toEqual(['1\n']);
    await reader?.close();
  });
});
