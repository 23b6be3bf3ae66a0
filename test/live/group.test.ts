import { expect, it } from 'vitest';
import { LiveGroup } from '../../src/live/group.ts';
import { LiveRoom } from '../../src/live/room.ts';
import { RunPace } from '../../src/live/run-pace.ts';
import type { Watch } from '../../src/upstream/receipt.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { read } from '../upstream/client-world.ts';

it('watches nothing any more that a run reads after its end', async () => {
  const clock = new VirtualClock();
  let watched = 0;
  const watch = () => {
    watched += 1;
    return { look: () => undefined, end: () => void (watched -= 1) } as unknown as Watch;
  };
  const credential = { partition: 'p', secret: 's', ofCaller: false };
  const keyed = (path: string) => ({ key: path, read: read(path), credential });
  let release = (): void => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  const group = new LiveGroup({
    clock,
    run: async (reads) => {
      reads.begin(keyed('before'), watch)();
      await isReleased;
      reads.begin(keyed('after'), watch)();
      return { document: { data: null }, upstream: {} };
    },
    throttleMs: 0,
    pace: new RunPace(clock, (begin) => begin()),
    room: new LiveRoom({ maxStreams: 1, maxStreamsPerCaller: 1, maxBytes: 1e6 }).openQuery(
      'one',
      0,
    ),
    onRun: () => {},
    onTooMuch: () => {},
    onRefused: () => {},
    onDeserted: () => {},
  });
  await clock.settle();
  expect(watched).toBe(1);
  group.end();
  release();
  await clock.settle();
  expect(watched).toBe(0);
});
