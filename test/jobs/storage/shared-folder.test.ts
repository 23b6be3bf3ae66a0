import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { rolldown } from 'rolldown';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JobFiles } from '../../../src/jobs/storage/job-files.ts';
import type { JobFolder } from '../../../src/jobs/storage/job-folder.ts';
import { JobStorageFailed } from '../../../src/jobs/storage/storage-errors.ts';
import { rounds } from '../../support/rounds.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import {
  contentOf,
  folderAt,
  type Marked,
  onlyJobAt,
  openFilesIn,
  removeScratch,
  scratch,
} from './job-stage.ts';
import { linesOfStep, seenOfStep } from './steps.ts';

afterEach(() => {
  vi.restoreAllMocks();
  removeScratch();
});

const shared = (root: string, complain?: (sentence: string) => void): JobFolder<Marked> =>
  folderAt(root, { isShared: true, ...(complain && { complain }) });

/** A folder that two processes use, with a job that the first one has created. */
async function begin() {
  const root = scratch();
  const one = shared(root);
  const two = shared(root);
  const files = await one.create('a', { mark: 'new' });
  return { root, one, two, files, path: join(root, 'a') };
}

async function claimed(folder: JobFolder<Marked>, id = 'a'): Promise<JobFiles<Marked>> {
  const files = await folder.claim(id);
  if (!files) throw new Error('there is no job');
  return files;
}

async function step(files: JobFiles<Marked>, line: string): Promise<void> {
  await files.append(`${line}\n`);
  await files.appendSeen([line]);
  await files.checkpoint({ mark: line });
}

/** Holds back the next call of a method of open files, as if the process was suspended there. */
async function suspend(path: string, method: 'datasync' | 'sync' | 'write') {
  const probe = await open(path, 'r');
  const prototype = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  const own = prototype[method] as (...args: unknown[]) => Promise<unknown>;
  let resume = (): void => {};
  const resumed = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    vi.spyOn(prototype, method).mockImplementationOnce(async function (
      this: FileHandle,
      ...args: unknown[]
    ) {
      resolve();
      await resumed;
      return own.apply(this, args);
    } as never);
  });
  return { reached, resume };
}

describe('a job in a shared folder', () => {
  it('is seen by all processes, as it was saved last', async () => {
    const { files, two } = await begin();
    expect((await two.load()).map(({ record }) => record.mark)).toEqual(['new']);
    await step(files, '1');
    expect((await two.find('a'))?.record.mark).toBe('1');
    await step(files, '2');
    const [seen] = await two.refresh();
    expect([seen?.record.mark, seen?.outputBytes]).toEqual(['2', files.outputBytes]);
    const reader = await seen?.openData();
    expect(reader?.size).toBe(4);
    await reader?.close();
    expect([await two.find('b'), await two.find('../a')]).toEqual([null, null]);
  });

  it('that was created or removed elsewhere appears and disappears, with its bytes', async () => {
    const { one, two } = await begin();
    await one.create('b', { mark: 'new' });
    expect((await two.refresh()).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(two.bytes).toBe(one.bytes);
    await one.remove('a');
    expect(await two.find('a')).toBeNull();
    expect((await two.refresh()).map(({ id }) => id)).toEqual(['b']);
    expect(two.bytes).toBe(one.bytes);
  });

  it('is read anew only if it has changed', async () => {
    const { files, two } = await begin();
    const before = await two.find('a');
    expect(await two.find('a')).toBe(before);
    await files.checkpoint({ mark: 'new' });
    const after = await two.find('a');
    expect(after).not.toBe(before);
    expect((await two.refresh())[0]).toBe(after);
  });

  it('is written by its owner only', async () => {
    const { two } = await begin();
    const files = await two.find('a');
    expect(files?.isOwned).toBe(false);
    await expect(files?.append('1\n')).rejects.toThrow(JobStorageFailed);
    await expect(files?.checkpoint({ mark: 'x' })).rejects.toThrow(JobStorageFailed);
    await expect(two.remove('a')).rejects.toThrow(JobStorageFailed);
  });

  it('that is damaged is reported once, and is usable when it is repaired', async () => {
    const { files, path, root } = await begin();
    await step(files, '1');
    const text = readFileSync(join(path, 'job.json'));
    const sentences: string[] = [];
    const two = shared(root, (sentence) => sentences.push(sentence));
    writeFileSync(join(path, 'job.json'), '{');
    for (let count = 0; count < 3; count += 1) expect(await two.refresh()).toEqual([]);
    expect(await two.find('a')).toBeNull();
    expect(sentences).toHaveLength(1);
    writeFileSync(join(path, 'job.json'), text);
    expect(await contentOf(await claimed(two))).toMatchObject({ mark: '1', data: '1\n' });
  });

  it('that others are creating is left alone, for a day', async () => {
    const root = scratch();
    const clock = new VirtualClock();
    const made = join(root, 'b.new');
    mkdirSync(made);
    const age = (ms: number) => {
      const at = new Date(clock.wall() - ms);
      utimesSync(made, at, at);
      return folderAt(root, { isShared: true, clock }).load();
    };
    await age(3_600_000);
    expect(existsSync(made)).toBe(true);
    await age(25 * 3_600_000);
    expect(existsSync(made)).toBe(false);
  });
});

describe('a job that another process takes over', () => {
  it('continues at its last checkpoint, under a greater number', async () => {
    const { files, one, path, two } = await begin();
    await step(files, '1');
    await files.append('lost\n');
    const next = await claimed(two);
    expect(next.fence).toBeGreaterThan(files.fence);
    expect(await contentOf(next)).toEqual({ mark: '1', data: '1\n', seen: ['1'] });
    await step(next, '2');
    const again = await claimed(one);
    expect(again.fence).toBeGreaterThan(next.fence);
    await step(again, '3');
    const expected = { mark: '3', data: '1\n2\n3\n', seen: ['1', '2', '3'] };
    expect(await contentOf(again)).toEqual(expected);
    expect((await two.find('a'))?.record.mark).toBe('3');
    // Nothing is left of the former owners.
    expect(readdirSync(path)).toEqual([String(again.fence)]);
    const sizes = readdirSync(join(path, String(again.fence))).map(
      (name) => statSync(join(path, String(again.fence), name)).size,
    );
    expect(one.bytes).toBe(sizes.reduce((sum, size) => sum + size));
  });

  it('is found by a process without replicas, too', async () => {
    const { files, root, two } = await begin();
    await step(files, '1');
    await step(await claimed(two), '2');
    const alone = await onlyJobAt(root);
    await step(alone, '3');
    expect(await contentOf(await onlyJobAt(root))).toMatchObject({ data: '1\n2\n3\n' });
  });

  it('is kept by the process that owns it already', async () => {
    const { files, one } = await begin();
    await files.append('1\n');
    expect(await one.claim('a')).toBe(files);
    await files.checkpoint({ mark: 'one' });
    expect((await contentOf(files)).data).toBe('1\n');
    expect(await one.claim('b')).toBeNull();
  });

  it('can be read on by who has begun', async () => {
    const { files, two } = await begin();
    await step(files, '1');
    const reader = await files.openData();
    await step(await claimed(two), '2');
    const pieces: string[] = [];
    for await (const piece of reader?.pieces(0, 2) ?? []) pieces.push(piece.toString());
    expect(pieces).toEqual(['1\n']);
    await reader?.close();
  });

  it('is not copied after a release', async () => {
    const { files, path, two } = await begin();
    await step(files, '1');
    const inode = statSync(join(path, 'data.jsonl')).ino;
    await files.append('lost\n');
    await files.release();
    await expect(files.append('2\n')).rejects.toThrow(/released/);
    const next = await claimed(two);
    expect(statSync(join(path, String(next.fence), 'data.jsonl')).ino).toBe(inode);
    await step(next, '2');
    expect((await contentOf(next)).data).toBe('1\n2\n');
    // From now on it is not released any more.
    const last = await claimed(shared(join(path, '..')));
    expect(statSync(join(path, String(last.fence), 'data.jsonl')).ino).not.toBe(inode);
    expect((await contentOf(last)).data).toBe('1\n2\n');
  });

  it('can have been discarded, and can be removed then', async () => {
    const { files, root, two } = await begin();
    await step(files, '1');
    await files.discardOutput();
    await files.release();
    const next = await claimed(two);
    expect(next.outputBytes).toBeNull();
    await next.checkpoint({ mark: 'expired' });
    await two.remove('a');
    expect([readdirSync(root), two.bytes]).toEqual([[], 0]);
  });

  it('is claimed by one of several that try at the same time', async () => {
    const { files, root } = await begin();
    await step(files, '1');
    const results = await Promise.allSettled(
      [shared(root), shared(root), shared(root)].map(async (folder) => {
        const own = await claimed(folder);
        await step(own, '2');
      }),
    );
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
    const last = await claimed(shared(root));
    const { data } = await contentOf(last);
    expect(['1\n', '1\n2\n']).toContain(data);
  });

  it('is not claimed by a process that another one overtakes', async () => {
    const { path, two } = await begin();
    const { reached, resume } = await suspend(join(path, 'job.json'), 'sync');
    const claiming = two.claim('a').catch((error: unknown) => error);
    await reached;
    expect(existsSync(join(path, '1', 'job.json'))).toBe(true);
    mkdirSync(join(path, '2'));
    resume();
    expect(String(await claiming)).toContain('another process takes it over');
    // What it has copied is there for the other one.
    expect(readdirSync(path).sort()).toEqual(['1', '2', 'job.json']);
  });

  it('is left as it is if it cannot be copied', async () => {
    const { files, path, root, two } = await begin();
    await step(files, '1');
    const whole = readFileSync(join(path, 'data.jsonl'));
    truncateSync(join(path, 'data.jsonl'), 1);
    await expect(two.claim('a')).rejects.toThrow(/shorter/);
    expect(readdirSync(path).sort()).toEqual(['data.jsonl', 'job.json', 'seen']);
    writeFileSync(join(path, 'data.jsonl'), whole);
    expect(await contentOf(await claimed(shared(root)))).toMatchObject({ data: '1\n' });
  });

  it('continues although an owner has ended while it took the job over', async () => {
    const { files, path, two } = await begin();
    await step(files, '1');
    mkdirSync(join(path, '7'));
    writeFileSync(join(path, '7', 'data.jsonl'), '1');
    expect((await two.find('a'))?.record.mark).toBe('1');
    const next = await claimed(two);
    expect(next.fence).toBe(8);
    expect((await contentOf(next)).data).toBe('1\n');
    expect(readdirSync(path)).toEqual(['8']);
  });
});

describe('an owner that was suspended', () => {
  it('saves nothing any more, and reports that', async () => {
    const { files, one, root, two } = await begin();
    await step(files, '1');
    await files.append('stale\n');
    const next = await claimed(two);
    await step(next, '2');
    await expect(files.checkpoint({ mark: 'stale' })).rejects.toThrow(
      new JobStorageFailed('another process continues it'),
    );
    for (const method of [
      () => files.append('stale\n'),
      () => files.appendSeen(['stale']),
      () => files.discardOutput(),
      () => files.release(),
      () => one.remove('a'),
    ]) {
      await expect(method()).rejects.toThrow(/another process/);
    }
    expect(files.isOwned).toBe(false);
    expect(await contentOf(next)).toMatchObject({ mark: '2', data: '1\n2\n' });
    await files.close();
    expect(openFilesIn(root)).toEqual([]);
  });

  it.each(['write', 'datasync'] as const)('in a %s changes nothing', async (method) => {
    const { files, root, two } = await begin();
    await step(files, '1');
    const { reached, resume } = await suspend(join(root, 'a', 'job.json'), method);
    const stale = step(files, 'stale').catch((error: unknown) => error);
    await reached;
    const next = await claimed(two);
    await step(next, '2');
    resume();
    expect(String(await stale)).toContain('another process continues it');
    await step(next, '3');
    expect(await contentOf(next)).toEqual({ mark: '3', data: '1\n2\n3\n', seen: ['1', '2', '3'] });
    expect((await shared(root).find('a'))?.record.mark).toBe('3');
  });

  it('loses no checkpoint that it was told to be saved, however owners overlap', async () => {
    const anyAction = fc.record({
      process: fc.nat(2),
      kind: fc.constantFrom('claim', 'step', 'step', 'step', 'release', 'find'),
      isAwaited: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyAction, { minLength: 5, maxLength: 30 }), async (actions) => {
        const root = scratch();
        const folders = [shared(root), shared(root), shared(root)];
        const owned = new Map([[0, await folders[0]?.create('a', { mark: '' })]]);
        /** The steps that were saved, in the order in which that was reported. */
        const saved: string[] = [];
        const take = async (at: number, process: number, kind: string): Promise<void> => {
          const folder = folders[process];
          if (kind === 'find') await folder?.find('a');
          if (kind === 'claim') owned.set(process, (await folder?.claim('a')) ?? undefined);
          if (kind === 'release') await owned.get(process)?.release();
          const files = owned.get(process);
          if (kind !== 'step' || !files) return;
          await Promise.all([
            files.append(`${at}\n`),
            files.appendSeen([`${at}`]),
            files.checkpoint({ mark: `${at}` }),
          ]);
          saved.push(`${at}`);
        };
        const running: Promise<void>[] = [];
        for (const [at, { isAwaited, kind, process }] of actions.entries()) {
          const done = take(at, process, kind).catch((error: unknown) => {
            if (!(error instanceof JobStorageFailed)) throw error;
          });
          running.push(done);
          if (isAwaited) await done;
        }
        await Promise.all(running);
        const { data, mark, seen } = await contentOf(await claimed(shared(root)));
        const lines = data.split('\n').slice(0, -1);
        expect(seen).toEqual(lines);
        expect(mark).toBe(lines.at(-1) ?? '');
        for (const each of saved) expect(lines).toContain(each);
        expect(new Set(lines).size).toBe(lines.length);
        removeScratch();
      }),
      { numRuns: rounds(100) },
    );
  });

  it('as a process, at any moment, leaves what its successor has written', async () => {
    const file = join(scratch(), 'endless-job.mjs');
    const bundle = await rolldown({ input: 'test/jobs/storage/endless-job.ts', platform: 'node' });
    await bundle.write({ file });
    await bundle.close();
    const root = scratch();
    for (let round = 0; round < rounds(6); round += 1) {
      const child = spawn(process.execPath, [file, root, 'shared'], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let errors = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        errors += text;
      });
      let reports = 0;
      await new Promise<void>((resolve) => {
        child.stdout.on('data', () => {
          reports += 1;
          if (reports > round % 4) resolve();
        });
      });
      child.kill('SIGSTOP');
      const next = await claimed(shared(root), '1');
      const first = Number(next.record.mark) + 1;
      const closed = once(child, 'close');
      const work = async (count: number) => {
        await next.append(linesOfStep(count));
        await next.appendSeen(seenOfStep(count));
        await next.checkpoint({ mark: String(count) });
      };
      await work(first);
      child.kill('SIGCONT');
      await work(first + 1);
      await closed;
      expect(errors).toContain('another process continues it');
      await work(first + 2);
      const { data, seen } = await contentOf(await onlyJobAt(root));
      const steps = Array.from({ length: first + 2 }, (_, index) => index + 1);
      expect(data === steps.map(linesOfStep).join('')).toBe(true);
      expect(seen).toEqual(steps.flatMap(seenOfStep));
    }
  });
});
