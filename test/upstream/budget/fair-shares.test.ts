import { describe, expect, it } from 'vitest';
import { used } from '../../../src/upstream/budget/law/slots.ts';
import { randomFrom } from '../../support/random.ts';
import { begun, type Want } from './law-world.ts';

const LIMIT = 30;
/** The window of `begun`. Callers wait for a sixth of it, as for 10 s of a minute. */
const WINDOW_MS = 1000;
const PATIENCE_MS = WINDOW_MS / 6;
const WINDOWS = 240;
const STEP_MS = 8;
const LATENCY_MS = 3;
const RESERVES = { writes: 0.1, newcomers: 0.1 };

/** What the tenth caller does while the nine use the budget. */
type Tenth = 'nothing' | 'reads' | 'huge operations' | 'writes';

interface Outcome {
  /** Of what the nine asked for, in per cent. */
  readonly refused: number;
  /** Slots that count, on average. */
  readonly used: number;
}

/** Nine callers that use 80 % of the limit, at random times, beside a tenth. */
function besides(tenth: Tenth): Outcome {
  const world = begun(LIMIT, { reserves: RESERVES });
  const draw = randomFrom(7);
  const waiting = new Map<Want, number>();
  const answers: { readonly id: string; readonly at: number }[] = [];
  const everyMs = WINDOW_MS / (LIMIT * 0.8);
  let [asked, refused, taken, steps] = [0, 0, 0, 0];
  let nextAt = world.now;
  const end = world.now + WINDOWS * WINDOW_MS;
  for (; world.now < end; world.now += STEP_MS) {
    while (answers[0] && answers[0].at <= world.now) world.ends(answers.shift()?.id ?? '');
    for (; nextAt <= world.now; nextAt += -Math.log(1 - draw()) * everyMs) {
      asked += 1;
      const lane = asked % 6 === 0 ? 'write' : 'interactive';
      waiting.set(world.asks(lane, `person ${Math.floor(draw() * 9)}`), world.now);
    }
    for (const [want, since] of waiting) {
      if (world.now - since <= PATIENCE_MS) continue;
      waiting.delete(want);
      world.lanes.remove(want);
      if (want.caller !== 'tenth') refused += 1;
    }
    const missing = 15 - [...waiting.keys()].filter(({ caller }) => caller === 'tenth').length;
    const count =
      tenth === 'nothing' || (tenth === 'huge operations' && missing < 15) ? 0 : missing;
    const lane = tenth === 'writes' ? 'write' : 'interactive';
    for (let n = 0; n < count; n += 1) waiting.set(world.asks(lane, 'tenth'), world.now);
    world.claims();
    for (const want of world.granted.splice(0)) {
      waiting.delete(want);
      answers.push({ id: want.id, at: world.now + LATENCY_MS });
    }
    taken += used(world.budget);
    steps += 1;
  }
  return { refused: (100 * refused) / asked, used: taken / steps };
}

describe('Nine callers at 80 % of the limit', () => {
  it('are seldom refused alone', () => {
    expect(besides('nothing').refused).toBeLessThanOrEqual(3.5);
  });

  it.each([
    ['reads', 10],
    ['huge operations', 10],
    ['writes', 14],
  ] as const)('are seldom refused beside one that takes all it can by %s', (tenth, most) => {
    const { refused, used: slots } = besides(tenth);
    expect(refused).toBeLessThanOrEqual(most);
    // What the nine do not use is not left unused either.
    expect(slots).toBeGreaterThanOrEqual(28);
  });
});
