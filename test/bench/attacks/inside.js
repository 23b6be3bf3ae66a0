// Loaded into the gateway before it starts: on SIGUSR2 it says on standard error what the
// process holds after a collection, and how late its event loop was since the last time.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const RESOLUTION_MS = 5;

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
let count = 0;

process.on('SIGUSR2', () => {
  const longestTurnMs = Math.max(0, delays.max / 1e6 - RESOLUTION_MS);
  gc();
  // What the first collection has finalized is let go of by the second.
  setTimeout(() => {
    gc();
    const { heapUsed, external, rss } = process.memoryUsage();
    const state = { longestTurnMs, held: heapUsed + external, rss };
    count += 1;
    process.stderr.write(`inside ${count} ${JSON.stringify(state)}\n`);
    delays.reset();
  }, 20);
});
