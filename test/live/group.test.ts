import { expect, it } from 'vitest';
import { LiveGroup } from '../../src/live/group.ts';
import { LiveRoom } from '../../src/live/room.ts';
import { RunPace } from '../../src/live/run-pace.ts';
import type { Client } from '../../src/upstream/client.ts';
import type { Read } from '../../src/upstream/request.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

it('watches nothing any more that a run reads after its end', async () => {
  const clock = new VirtualClock();
  let watched = 0;
  const client = {
    keyOf: ({ path }: Read<unknown>) => path,
    watch: () => {
      watched += 1;
      return { look: () => undefined, end: () => void (watched -= 1) };
    },
  } as unknown as Client;
  const read = (path: string) => ({ path }) as Read<unknown>;
  const credential = { partition: 'p', secret: 's', ofCaller: false };
  let release = (): void => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  const group = new LiveGroup({
    clock,
    id: 'group',
    run: async (reads) => {
      reads.begin(client, read('/before'), credential)();
      await isReleased;
      reads.begin(client, read('/after'), credential)();
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
