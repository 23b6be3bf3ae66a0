import { expect, it } from 'vitest';
import { createDigest } from '../../../src/digest.ts';
import { EventStream } from '../../../src/observe/event-stream.ts';
import { newStore } from '../../../src/store/open-store.ts';
import type { IdempotencyKey } from '../../../src/upstream/idempotency/idempotency-key.ts';
import { Records } from '../../../src/upstream/idempotency/records.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const MAX_BYTES = 1_000_000;
const MANY = 20_000;

it(`A caller that uses ${MANY} keys loses the oldest of its own, and none of others`, async () => {
  let forgotten = 0;
  const events = new EventStream();
  events.add({ keysForgotten: ({ count }) => void (forgotten += count) });
  const digest = createDigest('salt');
  const clock = new VirtualClock();
  const records = new Records({
    clock,
    store: newStore(clock),
    keepMs: 86_400_000,
    maxBytes: MAX_BYTES,
    events,
  });
  const keyOf = (caller: string, number: number): IdempotencyKey => ({
    name: digest(`${caller} ${number}`),
    scope: digest(caller),
    upstream: 'LINKS',
    fingerprint: { secret: 'secret', digest: digest('input') },
    mutation: 'createChannel',
    madeAt: null,
    report: () => {},
  });
  /** Whether the outcome of a key is known; otherwise it is used. */
  const isKnown = (caller: string, number: number): boolean => {
    const key = keyOf(caller, number);
    if (records.known(key)?.kind === 'final') return true;
    const record = records.own(key);
    records.save(record, { kind: 'done', value: { id: number } });
    records.handBack(record);
    return false;
  };
  for (let number = 0; number < 50; number += 1) isKnown('another', number);
  for (let number = 0; number < MANY; number += 1) isKnown('busy', number);
  const { bytes, stored } = records.gauges;
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  expect(bytes).toBeGreaterThan(MAX_BYTES * 0.9);
  expect(forgotten).toBe(MANY + 50 - stored);
  for (let number = 0; number < 50; number += 1) expect(isKnown('another', number)).toBe(true);
  expect(isKnown('busy', MANY - 1)).toBe(true);
  expect(isKnown('busy', 0)).toBe(false);
});
