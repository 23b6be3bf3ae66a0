import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { GATEWAY, start } from '../support/process.ts';

const WATCHED_MS = 2000;
/** On a busy machine it takes a while until everything is loaded, metrics last, and cleaned up after. */
const WATCHES = 20;

/** How often the threads of a process have gone to sleep so far. */
function sleepsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))
    .map((status) => Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1]))
    .reduce((sum, count) => sum + count, 0);
}

it.skipIf(!existsSync('/proc/self/task'))(
  'An idle process wakes less than five times a second (needs Linux)',
  async () => {
    const running = start(process.execPath, GATEWAY, {
      cwd: '.',
      env: {
        PORT: '0',
        AUTH_MODE: 'none',
        LINKS_BASE_URL: 'http://127.0.0.1:9',
        LINKS_API_KEY: 'unused',
        STATE_DIR: 'off',
      },
    });
    await running.says(/http:/);
    let sleeps = Number.POSITIVE_INFINITY;
    for (let watch = 0; watch < WATCHES && (sleeps * 1000) / WATCHED_MS >= 5; watch += 1) {
      const before = sleepsOf(running.child.pid ?? 0);
      await pause(WATCHED_MS);
      sleeps = sleepsOf(running.child.pid ?? 0) - before;
    }
    running.child.kill('SIGKILL');
    await running.ended;
    expect((sleeps * 1000) / WATCHED_MS).toBeLessThan(5);
  },
);
