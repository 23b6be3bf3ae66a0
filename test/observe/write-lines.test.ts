import { expect, it } from 'vitest';
import { EventStream } from '../../src/observe/event-stream.ts';
import type { KeyedWrite } from '../../src/observe/events.ts';
import { createLog } from '../../src/observe/log/logger.ts';
import { createScrub } from '../../src/observe/log/scrub.ts';
import { systemClock } from '../../src/scheduling/clock.ts';
import { keyedWrite } from '../support/keyed-write.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** The lines that the end of a write leaves. */
function linesOf(different: Partial<KeyedWrite>): Record<string, unknown>[] {
  let text = '';
  const stream = { write: (line: string) => void (text += line) };
  const events = new EventStream();
  events.add(createLog({ level: 'info', stream, scrub: createScrub([]), clock: systemClock }));
  events.emit('keyed', keyedWrite(different));
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

it.each(['executed', 'replayed', 'rejected', 'conflict_in_use', 'reused'] as const)(
  'A write that ends as %s leaves no line besides that of its operation',
  (outcome) => {
    expect(linesOf({ outcome })).toEqual([]);
  },
);

it('A write with a lost response leaves one line at its end', () => {
  const facts = {
    time: expect.any(String),
    requestId: 'call-1',
    operation: 'Save',
    caller: 'web',
    upstream: 'LINKS',
    mutation: 'createChannel',
    key: '0a1b2c3d',
  };
  expect(linesOf({ outcome: 'reconciled', reads: 1 })).toEqual([
    { ...facts, level: 'info', msg: 'write reconciled', reads: 1 },
  ]);
  const settlesAt = Date.UTC(2026, 4, 5, 6, 7, 8);
  expect(linesOf({ outcome: 'unknown', settlesAt })).toEqual([
    {
      ...facts,
      level: 'warn',
      msg: 'write outcome unknown',
      reads: 0,
      settlesAt: '2026-05-05T06:07:08.000Z',
    },
  ]);
});

it('Keys that are removed because the store is full leave a line every ten minutes', async () => {
  let text = '';
  const clock = new VirtualClock();
  const stream = { write: (line: string) => void (text += line) };
  const events = new EventStream();
  events.add(createLog({ level: 'info', stream, scrub: createScrub([]), clock }));
  for (let minute = 0; minute < 15; minute += 1) {
    events.emit('keysForgotten', { count: 1 });
    await clock.advance(60_000);
  }
  const counts = [...text.matchAll(/"level":"warn".*"count":(\d+)/g)].map(([, count]) => count);
  expect(counts).toEqual(['1', '10']);
});
