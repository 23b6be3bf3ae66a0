import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { rounds } from '../../../support/rounds.ts';
import { Stage } from '../story.ts';
import { Channels, type Updated } from './channels.ts';

const stage = new Stage();
const channels = new Channels(stage);

/** A number of concurrent increments of the number in the description. */
const MANY = 16;

it(`${MANY} concurrent increments of a number lose none, at two calls each`, async () => {
  const { world } = stage;
  await channels.changeElsewhere({ description: 'visits: 0' });
  world.forgetCalls();
  const increment = async (): Promise<void> => {
    const query = '{ channel(id: 21) { description } }';
    let { channel: state } = await world.data<{ channel: Updated['current'] }>(query);
    for (;;) {
      const before = String(state?.['description']);
      const description = `visits: ${Number(before.split(' ')[1]) + 1}`;
      const updated = await channels.change({ description }, { description: before });
      if (!updated.current) return;
      state = updated.current;
    }
  };
  await Promise.all(Array.from({ length: MANY }, increment));
  const { channel } = (await world.data('{ channel(id: 21) { description } }')) as {
    channel: unknown;
  };
  expect(channel).toEqual({ description: `visits: ${MANY}` });
  // Each write makes the next comparison read once, for all who wait.
  expect(world.calls().filter((call) => call.startsWith('PUT'))).toHaveLength(MANY);
  expect(world.calls().length).toBeLessThanOrEqual(2 * MANY + 1);
});

/** One update: of any state, or only `from` one. */
interface Step {
  readonly to: string;
  readonly from: string | null;
}

/** What happened to it. Times are counted, not measured. */
interface Outcome extends Step {
  readonly begun: number;
  readonly ended: number;
  /** The state instead of `from`; `null` if the update was made. */
  readonly instead: string | null;
}

/** Whether the outcomes are those of one order of steps, in which none is before one that had ended when it began. */
function isSerial(state: string, end: string, left: readonly Outcome[]): boolean {
  if (left.length === 0) return state === end;
  return left.some((next) => {
    if (left.some(({ ended }) => ended < next.begun)) return false;
    const isMade = next.from === null || next.from === state;
    if (next.instead !== (isMade ? null : state)) return false;
    const others = left.filter((each) => each !== next);
    return isSerial(isMade ? next.to : state, end, others);
  });
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
};

/** The name before all steps; step number n sets the name `n`. */
const START = 'start';

/** What a step expects: nothing, the name at the start, or the one that another step sets. */
const from = fc.oneof(
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 3, arbitrary: fc.constant(START) },
  { weight: 2, arbitrary: fc.nat(5).map(String) },
);
/** When a step begins, and how long its request stays at the API before or after it has its effect, in turns. */
const moments = fc.record({ begins: fc.nat(30), held: fc.nat(60), applied: fc.boolean() });

it('any interleaving of updates with and without `expected` has the results of some order of them', async () => {
  const runs = { numRuns: rounds(15) };
  const anyStory = fc.array(fc.tuple(from, moments), { minLength: 2, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(anyStory, async (story) => {
      await channels.changeElsewhere({ name: START });
      const world = await stage.open();
      for (const [, { held, applied }] of story) {
        stage.sandbox.links.fault({
          kind: 'hold',
          // From the arrival of the request.
          get until() {
            return turns(held);
          },
          applied,
          path: '/api/channel/*',
          method: 'PUT',
          times: 1,
        });
      }
      let time = 0;
      const tick = (): number => {
        time += 1;
        return time;
      };
      const play = async (
        [before, { begins }]: (typeof story)[number],
        at: number,
      ): Promise<Outcome> => {
        const to = String(at);
        await turns(begins);
        const begun = tick();
        const updated = await channels.change(
          { name: to },
          before === null ? undefined : { name: before },
          world,
        );
        const ended = tick();
        const instead = updated.current ? String(updated.current['name']) : null;
        return { from: before, to, begun, ended, instead };
      };
      const outcomes = await Promise.all(story.map(play));
      stage.sandbox.links.clearFaults();
      await world.close();
      expect(isSerial(START, String(await channels.name()), outcomes)).toBe(true);
    }),
    runs,
  );
});
