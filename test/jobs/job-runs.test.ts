import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type JobRecord, newRecord, parseJobRecord } from '../../src/jobs/job.ts';
import { JobLeases } from '../../src/jobs/job-leases.ts';
import type { JobOperations } from '../../src/jobs/job-operations.ts';
import { JobRuns, KnownJob } from '../../src/jobs/job-runs.ts';
import { JobFolder } from '../../src/jobs/storage/job-folder.ts';
import { schema } from '../../src/schema.ts';
import { RowLocks } from '../../src/upstream/idempotency/row-locks.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { removeScratch, scratch } from './storage/job-stage.ts';

afterEach(removeScratch);

it('reports a job of a shared folder that cannot be claimed, once for each reason', async () => {
  const clock = new VirtualClock();
  const root = scratch();
  const folderOf = () =>
    new JobFolder<JobRecord>({
      root,
      isOwned: () => true,
      isShared: true,
      clock,
      maxBytes: 1e6,
      parse: parseJobRecord,
      outputName: () => 'data.jsonl',
      complain: () => {},
    });
  const record = newRecord({
    id: '1',
    owner: { name: 'eve', role: 'editor' },
    key: null,
    maxPerMinute: null,
    name: 'channels',
    startAt: 0,
    format: 'JSONL',
    isCheap: true,
    text: '{ channels { nodes { id } } }',
    variables: {},
    upstream: 'LINKS',
    wall: clock.wall(),
  });
  await folderOf().create('1', record);
  const folder = folderOf();
  const files = await folder.find('1');
  if (!files) throw new Error('there is no job');
  rmSync(join(root, '1', 'job.json'));
  const defects: string[] = [];
  const runs = new JobRuns({
    clock,
    schema,
    folder,
    leases: new JobLeases(new RowLocks(clock)),
    // It is not reached.
    operations: {} as JobOperations,
    viewerOf: () => null,
    changed: () => {},
    defect: (error) => defects.push(String(error)),
  });
  const job = new KnownJob(files);
  for (let tries = 0; tries < 3; tries += 1) {
    runs.begin(job);
    await job.running?.ended;
  }
  expect(defects).toEqual([expect.stringContaining('job.json is missing')]);
  expect(job.record.state).toBe('QUEUED');
});
