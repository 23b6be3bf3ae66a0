import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { rolldown } from 'rolldown';
import { afterAll, expect, it } from 'vitest';
import { rounds } from '../../support/rounds.ts';
import { contentOf, onlyJobAt, removeScratch, scratch } from './job-stage.ts';
import { linesOfStep, seenOfStep } from './steps.ts';

afterAll(removeScratch);

/** A program that Node can run. */
async function bundled(): Promise<string> {
  const file = join(scratch(), 'endless-job.mjs');
  const bundle = await rolldown({ input: 'test/jobs/storage/endless-job.ts', platform: 'node' });
  await bundle.write({ file });
  await bundle.close();
  return file;
}

/** Runs the program, and kills it a moment after some checkpoints. Returns the last one that it has reported. */
async function runAndKill(program: string, root: string, checkpoints: number, ms: number) {
  const child = spawn(process.execPath, [program, root], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  let reports = 0;
  const isDue = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      reports += text.split('\n').length - 1;
      if (reports >= checkpoints) resolve();
    });
  });
  const closed = once(child, 'close');
  await isDue;
  await setTimeout(ms);
  child.kill('SIGKILL');
  await closed;
  return Number(output.trimEnd().split('\n').at(-1));
}

it('a process that is killed at any time leaves what it has reported, whole', async () => {
  const program = await bundled();
  const root = scratch();
  for (let round = 0; round < rounds(12); round += 1) {
    const reported = await runAndKill(program, root, 1 + (round % 3), round % 7);
    const { data, mark, seen } = await contentOf(await onlyJobAt(root));
    const step = Number(mark);
    expect([reported, reported + 1]).toContain(step);
    const steps = Array.from({ length: step }, (_, index) => index + 1);
    expect(data).toBe(steps.map(linesOfStep).join(''));
    expect(seen).toEqual(steps.flatMap(seenOfStep));
  }
});
