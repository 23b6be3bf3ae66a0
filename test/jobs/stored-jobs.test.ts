import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type JobRecord, newRecord } from '../../src/jobs/job.ts';
import { JobStorageFull, type StoredJob, StoredJobs } from '../../src/jobs/stored-jobs.ts';
import { newStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { anyText } from '../support/any-text.ts';
import { rounds } from '../support/rounds.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const recordOf = (id: string): JobRecord =>
  newRecord({
    id,
    owner: { name: 'ann', role: 'viewer' },
    key: null,
    maxPerMinute: null,
    name: 'channels',
    startAt: 0,
    format: 'JSONL',
    isCheap: true,
    text: '{ channels { nodes { id } } }',
    variables: {},
    upstream: 'LINKS',
    wall: 0,
  });

async function loaded(store: Store, complaints: string[] = [], maxBytes = 2 ** 30) {
  const complain = (sentence: string): void => void complaints.push(sentence);
  return StoredJobs.load(store, { complain, maxBytes });
}

async function bytesOf(job: StoredJob, start = 0, end = job.outputBytes ?? 0): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of job.pieces(start, end)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function seenOf(job: StoredJob): Promise<string[]> {
  const seen: string[] = [];
  for await (const each of job.seen()) seen.push(each);
  return seen;
}

/** Some are larger than a piece. */
const anyLines = fc
  .tuple(anyText(30), fc.constantFrom(0, 1, 3, 2000))
  .map(([text, times]) => `${JSON.stringify(text)}\n`.repeat(times));

it('the output is what was added, in each part, and as the next owner finds it', async () => {
  const anySteps = fc.array(fc.tuple(anyLines, fc.array(anyText(8), { maxLength: 5 })), {
    maxLength: 12,
  });
  const anyPart = fc.tuple(fc.nat(400_000), fc.nat(400_000));
  await fc.assert(
    fc.asyncProperty(anySteps, fc.array(anyPart, { maxLength: 5 }), async (steps, parts) => {
      const store = newStore(new VirtualClock());
      const jobs = await loaded(store);
      const [job, other] = [await jobs.create(recordOf('12')), await jobs.create(recordOf('123'))];
      for (const [lines, seen] of steps) {
        await job.save(job.record, { lines, seen });
        await other.save(other.record, { lines: 'other\n', seen: ['other'] });
      }
      const whole = Buffer.from(steps.map(([lines]) => lines).join(''));
      const next = (await loaded(store)).get('12');
      for (const each of [job, next]) {
        expect(each?.outputBytes).toBe(whole.length);
        if (!each) continue;
        expect((await bytesOf(each)).equals(whole)).toBe(true);
        expect(await seenOf(each)).toEqual(steps.flatMap(([, seen]) => seen));
        for (const [one, two] of parts) {
          const [start, end] = [Math.min(one, two), Math.max(one, two)].map((at) =>
            Math.min(at, whole.length),
          );
          expect((await bytesOf(each, start, end)).equals(whole.subarray(start, end))).toBe(true);
        }
      }
    }),
    { numRuns: rounds(25) },
  );
});

it('a job that is removed leaves nothing, and the others as they are', async () => {
  const store = newStore(new VirtualClock());
  const jobs = await loaded(store, [], 3000);
  const other = await jobs.create(recordOf('11'));
  await other.save(other.record, { lines: 'kept\n', seen: ['1'] });
  const lines = `${'x'.repeat(999)}\n`;
  // What is removed makes room again.
  for (let round = 0; round < 5; round += 1) {
    const job = await jobs.create(recordOf('1'));
    expect([job.outputBytes, await seenOf(job)]).toEqual([0, []]);
    const added = { lines, seen: ['1'] };
    await job.save(job.record, added);
    await expect(job.save(job.record, { ...added, lines: lines.repeat(2) })).rejects.toThrow(
      JobStorageFull,
    );
    expect((await bytesOf(job)).toString()).toBe(lines);
    await job.discardOutput(job.record);
    expect([job.outputBytes, await seenOf(job)]).toEqual([null, []]);
    jobs.remove(job);
    await store.committed();
    const keys: string[] = [];
    for await (const [key] of store.read({ from: '', to: '~' })) keys.push(key.slice(0, 9));
    expect(keys).toEqual(['job/11', 'output/11', 'seen/11/0']);
  }
});

it('a record that cannot be read is reported and skipped', async () => {
  const store = newStore(new VirtualClock());
  await (await loaded(store)).create(recordOf('2'));
  store.put('job/1', '{"record":');
  store.put('job/3', '{"record":{"id":"3"},"bytes":0,"seenBytes":0}');
  const complaints: string[] = [];
  const jobs = await loaded(store, complaints);
  expect(jobs.all.map(({ id }) => id)).toEqual(['2']);
  expect(complaints).toEqual([
    expect.stringContaining('job/1'),
    expect.stringMatching(/job\/3 .*incomplete/),
  ]);
});
