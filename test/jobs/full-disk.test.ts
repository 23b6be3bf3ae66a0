import { execFileSync } from 'node:child_process';
import { afterEach, expect, it } from 'vitest';
import { describeWith, prlimit } from '../support/needs.ts';
import { jobWorld } from './job-world.ts';

/** Lets this process extend no file beyond a size in bytes, as if its disk were full. */
function limitFiles(size: number | 'unlimited'): void {
  execFileSync(prlimit.path, ['--pid', String(process.pid), `--fsize=${size}:`]);
}

describeWith(prlimit, 'A job on a full disk', () => {
  afterEach(() => limitFiles('unlimited'));

  it('is paused, while complete files can be downloaded, and continues later', async () => {
    const world = await jobWorld();
    const query = '{ channels { nodes { id items(first: 100) { nodes { __typename } } } } }';
    const first = await world.exports(query);
    await world.until(first, 'DONE');
    const text = await (await world.output(first)).text();
    world.sandbox.links.fault({ kind: 'slow', delayMs: 100 });
    const second = await world.exports(query.replace('id', 'id name'));
    await world.reaches(second, ({ rowsDone }) => rowsDone > 0);
    limitFiles(1);
    const paused = await world.reaches(second, ({ state }) => state === 'PAUSED');
    expect(paused.error?.code).toBe('JOB_STORAGE_FULL');
    expect(await (await world.output(first)).text()).toBe(text);
    const third = await world.exports('{ channels { nodes { id } } }');
    await world.reaches(third, ({ error }) => error?.code === 'JOB_STORAGE_FULL');
    await world.send('mutation($id: ID!) { cancelJob(id: $id) { id } }', { id: third });
    expect(await world.job(third)).toMatchObject({ state: 'CANCELED', error: null });
    limitFiles('unlimited');
    await expect.poll(() => world.world.store.fault, { timeout: 10_000 }).toBeNull();
    await world.send('mutation($id: ID!) { resumeJob(id: $id) { id } }', { id: second });
    await world.until(second, 'DONE');
    await world.restart();
    expect((await world.job(third)).state).toBe('CANCELED');
    const rows = (await (await world.output(second)).text()).split('\n').length;
    expect(rows).toBe(text.split('\n').length);
  });
});
