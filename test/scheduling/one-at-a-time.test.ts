import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { OneAtATime } from '../../src/scheduling/one-at-a-time.ts';

describe('Tasks that run one at a time', () => {
  it('never overlap, and let their owners take turns', async () => {
    const tasks = new OneAtATime();
    const order: string[] = [];
    let running = 0;
    const task = (owner: string) =>
      tasks.run(owner, async () => {
        running += 1;
        expect(running).toBe(1);
        order.push(owner);
        await setImmediate();
        running -= 1;
      });
    const owners = ['greedy', 'greedy', 'greedy', 'greedy', 'modest', 'modest'];
    await Promise.all(owners.map(task));
    expect(order).toEqual(['greedy', 'modest', 'greedy', 'modest', 'greedy', 'greedy']);
  });

  it('reject with their errors, and let the next one run', async () => {
    const tasks = new OneAtATime();
    const failed = tasks.run('one', () => Promise.reject(new Error('no')));
    const next = tasks.run('one', () => 'yes');
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('yes');
  });
});
