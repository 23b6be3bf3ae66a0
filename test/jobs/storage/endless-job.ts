import { writeSync } from 'node:fs';
import { JobFolder } from '../../../src/jobs/storage/job-folder.ts';
import { systemClock } from '../../../src/scheduling/clock.ts';
import type { Marked } from './job-stage.ts';
import { linesOfStep, seenOfStep } from './steps.ts';

/** A process that works on a job until it is killed or loses it, and reports each checkpoint. */
const isShared = process.argv[3] === 'shared';
const folder = new JobFolder<Marked>({
  root: process.argv[2] ?? '',
  clock: systemClock,
  isOwned: () => true,
  isShared,
  maxBytes: 1024 ** 3,
  parse: (text) => JSON.parse(text) as Marked,
  outputName: () => 'data.jsonl',
  complain: (sentence) => {
    throw new Error(sentence);
  },
});
const [known] = await folder.load();
const files =
  (known && (await folder.claim(known.id))) ?? (await folder.create('1', { mark: '0' }));
await files.resume();
for (let step = Number(files.record.mark) + 1; ; step += 1) {
  const lines = linesOfStep(step);
  const half = lines.indexOf('\n') + 1;
  await files.append(lines.slice(0, half));
  await files.appendSeen(seenOfStep(step));
  await files.append(lines.slice(half));
  await files.checkpoint({ mark: String(step) });
  writeSync(1, `${step}\n`);
}
