import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createPixel, pixels } from '../../../src/links/brand/pixel.ts';
import type { Fault } from '../../../src/sandbox/sandbox.ts';
import { rounds } from '../../support/rounds.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { Disk, KeyedProcess, keyedSandbox, newKey, outcome } from './keyed-world.ts';

const ADD = '/api/pixel/add';
const RUNS = rounds(20);

/** What becomes of the next request. */
const fates: readonly (Fault | null)[] = [
  null,
  { kind: 'drop' },
  { kind: 'drop', applied: true },
  { kind: 'hang' },
  { kind: 'hang', applied: true },
  { kind: 'truncated' },
  { kind: 'html', status: 500, applied: true },
  { kind: 'refuse-429', retryAfter: 1 },
];

/** The calls of one moment, and what follows: their callers may hang up, and the process may be killed. */
const step = fc.record({
  fate: fc.constantFrom(...fates),
  maxWaitMs: fc.constantFrom(0, 6000, 50_000),
  // Most calls are retries of one input.
  inputs: fc.array(fc.constantFrom('one', 'one', 'one', 'other'), { minLength: 1, maxLength: 3 }),
  hangsUpAfterMs: fc.constantFrom(null, 0, 1, 5500),
  passesMs: fc.constantFrom(0, 1000, 5000, 31_000, 70_000),
  isKilled: fc.boolean(),
});

it(`a key makes at most one row, of the input of each call with a result, and is sent once at most, in ${RUNS} stories of losses, hang-ups and kills`, async () => {
  const clock = new VirtualClock();
  const sandbox = await keyedSandbox(clock);
  const disk = new Disk();
  let story = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      story += 1;
      const nameOf = (input: string) => `Story ${story} ${input}`;
      const key = newKey();
      sandbox.links.clearLog();
      let process = await KeyedProcess.start(sandbox, { clock, disk });
      /** The rows of which callers were told. */
      const made: { readonly id: number; readonly name: string }[] = [];
      let calls: Promise<void>[] = [];
      for (const { inputs, fate, hangsUpAfterMs, isKilled, maxWaitMs, passesMs } of steps) {
        const unlost = fate && sandbox.links.fault({ ...fate, path: ADD, times: 1 });
        const hangUp = new AbortController();
        for (const content of inputs) {
          const call = process.call({ key, content, maxWaitMs, signal: hangUp.signal });
          const name = nameOf(content);
          const pixel = createPixel({ type: 'GTM', name, tag: `GTM-${story}` });
          const tell = async (): Promise<void> => {
            const result = await outcome(call.links.write(pixel));
            if (!(result instanceof Error)) made.push({ id: result.id, name });
          };
          calls.push(tell());
        }
        await clock.settle();
        if (hangsUpAfterMs !== null) {
          await clock.advance(hangsUpAfterMs);
          hangUp.abort();
        }
        await clock.advance(passesMs);
        unlost?.();
        if (!isKilled) continue;
        // A killed process has no callers, and nothing of it is closed.
        hangUp.abort();
        calls = [];
        process = await KeyedProcess.start(sandbox, { clock, disk });
      }
      await clock.advance(100_000);
      await Promise.all(calls);
      const sent = sandbox.links.requests.filter(
        ({ method, status }) => method === 'POST' && status !== 429,
      );
      const rows = await process.call().links.connection(pixels, { first: 100 });
      const names: readonly unknown[] = ['one', 'other'].map(nameOf);
      const own = (rows?.edges ?? [])
        .filter(({ node }) => names.includes(node.name))
        .map(({ node: { id, name } }) => ({ id, name }));
      expect(sent.length).toBeLessThanOrEqual(1);
      expect(own.length).toBeLessThanOrEqual(1);
      for (const row of made) expect(own).toEqual([row]);
    }),
    { numRuns: RUNS },
  );
});
