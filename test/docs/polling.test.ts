import { afterEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';
import { pageAt } from '../support/readme.ts';
import { until } from './support/live-recipes.ts';

const LISTS =
  '{ campaigns(first: 10) { nodes { id name } } channels(first: 10) { nodes { id name } } }';
const EVERY_MS = 5000;
const TURNS = 120;

/** The rows of the table by who looks: requests to the gateway and upstream. */
const shown = new Map(
  [
    ...pageAt('docs/frontend-reference.md').matchAll(
      /^\| (\d+ viewers?.*?) \| (\d+) \| (\d+) \|$/gm,
    ),
  ].map(([, who = '', asked, upstream]) => [
    who,
    { asked: Number(asked), upstream: Number(upstream) },
  ]),
);

describe('what polling costs, as docs/frontend-reference.md shows it', () => {
  let door: Door;
  afterEach(() => door.close());

  it.each([
    ['1 viewer who polls every 5 seconds', 1],
    ['20 viewers who poll every 5 seconds', 20],
  ])('%s', async (who, viewers) => {
    door = await openDoor({ AUTH_MODE: 'none' });
    let asked = 0;
    for (let turn = 0; turn < TURNS; turn += 1) {
      const answers = await Promise.all(Array.from({ length: viewers }, () => door.ask(LISTS)));
      asked += answers.length;
      for (const { errors } of answers) expect(errors).toEqual([]);
      await door.clock.advance(EVERY_MS);
    }
    expect({ asked, upstream: door.calls() }).toEqual(shown.get(who));
  });

  it('20 viewers with `@live`', async () => {
    door = await openDoor({ AUTH_MODE: 'none' });
    const query = `query Lists @live ${LISTS}`;
    let asked = 0;
    // As a page does: it comes back where its stream ended for its age.
    const look = async (): Promise<void> => {
      asked += 1;
      const viewer = LiveViewer.open(door.url, { query });
      await viewer.untilEnded();
      expect(viewer.status).toBe(200);
      if (!hasLeft) await look();
    };
    let hasLeft = false;
    const viewers = Promise.all(Array.from({ length: 20 }, () => look()));
    await until(() => door.calls(), 2);
    for (let turn = 0; turn < TURNS; turn += 1) await door.clock.advance(EVERY_MS);
    expect({ asked, upstream: door.calls() }).toEqual(shown.get('20 viewers with `@live`'));
    hasLeft = true;
    LiveViewer.closeAll();
    await viewers;
  });
});
