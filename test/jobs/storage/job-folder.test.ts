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
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { BadUserInput } from '../../../src/errors.ts';
import { JobStorageFailed, JobStorageFull } from '../../../src/jobs/storage/storage-errors.ts';
import { chunksOf, contentOf, folderAt, openFilesIn, removeScratch, scratch } from './job-stage.ts';

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
    const files = await folderAt(root).create(
      'a',
      { mark: 'new' },
      { chunks: chunksOf('{}\n'), maxBytes: 10 },
    );
    await files.append('1\n');
    await files.appendSeen(['1']);
    await files.checkpoint({ mark: 'one' });
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect([modeOf(root), modeOf(join(root, 'a'))]).toEqual(['700', '700']);
    const names = readdirSync(join(root, 'a')).sort();
    expect(names).toEqual(['data.jsonl', 'input.jsonl', 'job.json', 'seen']);
    expect(names.map((name) => modeOf(join(root, 'a', name)))).toEqual([
      '600',
      '600',
      '600',
      '600',
    ]);
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
    const kinds = [
      'a-good',
      'b-cut',
      'c-text',
      'd-version',
      'e-record',
      'f-missing',
      'g-good',
      'h-input',
    ];
    for (const id of kinds) {
      const files = await folder.create(
        id,
        { mark: id },
        { chunks: chunksOf('1\n2\n'), maxBytes: 10 },
      );
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
    truncateSync(join(root, 'h-input', 'input.jsonl'), 1);
    const before = readdirSync(root, { recursive: true });
    const { ids, sentences } = await loaded(root);
    expect(ids).toEqual(['a-good', 'g-good']);
    expect(sentences.map((each) => each.replace(root, '')).sort()).toEqual([
      '/b-cut: this job cannot be used and is skipped (a file is shorter than at the last checkpoint).',
      '/c-text: this job cannot be used and is skipped (job.json is damaged).',
      '/d-version: this job cannot be used and is skipped (it has another version).',
      '/e-record: this job cannot be used and is skipped (it has no mark).',
      '/f-missing: this job cannot be used and is skipped (job.json is missing).',
      '/h-input: this job cannot be used and is skipped (a file is shorter than at the last checkpoint).',
    ]);
    expect(readdirSync(root, { recursive: true })).toEqual(before);
  });

  it('what was left behind is removed, and nothing else', async () => {
    const root = scratch();
    await folderAt(root).create('a', { mark: 'new' });
    writeFileSync(join(root, 'a', 'job.json.new'), '{');
    for (const name of ['b.new', 'c.old']) {
      mkdirSync(join(root, name));
      writeFileSync(join(root, name, 'input.jsonl'), '1\n');
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
    expect(jobs[0]?.output).toBeNull();
    expect(readdirSync(join(copy, 'a'))).toEqual(['job.json']);
  });
});

/** A folder as it is left when the process ends now; `null` if a file was renamed while it was copied. */
function copyOf(root: string): string | null {
  const copy = scratch();
  try {
    cpSync(root, copy, { recursive: true });
    return copy;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

describe('the input of a new job', () => {
  const input = (text: string, maxBytes = 1000) => ({ chunks: chunksOf(text, 3), maxBytes });

  it('is stored with it', async () => {
    const root = scratch();
    const files = await folderAt(root).create('a', { mark: 'new' }, input('{"a":1}\n{"a":2}\n'));
    expect(files.inputBytes).toBe(16);
    const [next] = (await loaded(root)).jobs;
    const lines: unknown[] = [];
    for await (const line of next?.inputLines() ?? []) lines.push(line);
    expect(lines).toEqual([
      { line: 1, end: 8, text: '{"a":1}', fault: null },
      { line: 2, end: 16, text: '{"a":2}', fault: null },
    ]);
    const rest: unknown[] = [];
    for await (const { text } of next?.inputLines({ line: 1, offset: 8 }) ?? []) rest.push(text);
    expect(rest).toEqual(['{"a":2}']);
  });

  it('that is too large leaves nothing', async () => {
    const root = scratch();
    const folder = folderAt(root);
    await expect(folder.create('a', { mark: 'new' }, input('12345', 4))).rejects.toThrow(
      new BadUserInput('The file is larger than 4 bytes.'),
    );
    expect([readdirSync(root), folder.bytes, openFilesIn(root)]).toEqual([[], 0, []]);
    await folder.create('a', { mark: 'new' }, input('1234', 4));
  });

  it('that does not fit into the limit of all jobs leaves nothing', async () => {
    const root = scratch();
    const folder = folderAt(root, { maxBytes: 100 });
    await expect(folder.create('a', { mark: 'new' }, input('x'.repeat(101)))).rejects.toThrow(
      JobStorageFull,
    );
    expect([readdirSync(root), folder.bytes]).toEqual([[], 0]);
  });

  it('whose sender leaves is no error of the storage', async () => {
    const root = scratch();
    async function* broken() {
      yield Buffer.from('1\n');
      throw new RangeError('left');
    }
    const chunks = broken();
    const created = folderAt(root).create('a', { mark: 'new' }, { chunks, maxBytes: 10 });
    await expect(created).rejects.toThrow(RangeError);
    expect(readdirSync(root)).toEqual([]);
  });

  it('is there as a whole or not at all when the process ends', async () => {
    const root = scratch();
    const text = '{"a":1}\n'.repeat(50);
    const created = folderAt(root).create('a', { mark: 'new' }, input(text));
    let isCreated = false;
    // oxlint-disable-next-line promise/always-return
    void created.then(() => {
      isCreated = true;
    });
    let partly = 0;
    // oxlint-disable-next-line no-unmodified-loop-condition
    while (!isCreated) {
      const copy = copyOf(root);
      if (copy === null) continue;
      if (existsSync(join(copy, 'a.new', 'input.jsonl'))) partly += 1;
      const { jobs, sentences } = await loaded(copy);
      expect(sentences).toEqual([]);
      for (const job of jobs) expect(job.inputBytes).toBe(text.length);
      if (jobs.length === 0) expect(readdirSync(copy)).toEqual([]);
      await setImmediate();
    }
    expect(partly).toBeGreaterThan(1);
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
