import { mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { jobWorld } from './job-world.ts';

const SECRET = '{"secret":"of another program"}\n'.repeat(10_000);

it.each([
  [
    'output',
    (job: string, elsewhere: string) => {
      rmSync(join(job, 'data.jsonl'));
      symlinkSync(join(elsewhere, 'data.jsonl'), join(job, 'data.jsonl'));
    },
  ],
  [
    'folder',
    (job: string, elsewhere: string) => {
      renameSync(job, join(elsewhere, 'moved'));
      symlinkSync(elsewhere, job);
    },
  ],
])('does not follow a link in the place of the %s of a job', async (_name, replace) => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  onTestFinished(() => rmSync(elsewhere, { recursive: true }));
  writeFileSync(join(elsewhere, 'data.jsonl'), SECRET);
  const world = await jobWorld();
  const id = await world.exports('{ channels { nodes { name } } }');
  await world.until(id, 'DONE');
  const [name = ''] = readdirSync(join(world.folder, 'jobs'));
  replace(join(world.folder, 'jobs', name), elsewhere);
  const response = await world.output(id);
  expect(response.ok).toBe(false);
  expect(await response.text()).not.toMatch(/secret|elsewhere/);
});
