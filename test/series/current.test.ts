import { describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { LiveViewer } from '../support/live-viewer.ts';
import { POINT, type Point } from './series-world.ts';

const HOUR = 3_600_000;

let door: Door;

async function open(): Promise<void> {
  door = await openDoor({ AUTH_MODE: 'none' });
  // The sandbox is of one moment: hours begin with the clock.
  await door.clock.advance(HOUR - (door.clock.wall() % HOUR));
}

const fileCount = `{ totalCountHistory(list: FILES, step: HOUR, last: 2) { ${POINT} } }`;
const withRow = `{
  totalCountHistory(list: FILES, step: HOUR, last: 2) { ${POINT} }
  qrCodes(first: 1) { nodes { name scanHistory(step: HOUR, last: 2) { at } } }
}`;

const withVariable = `query ($first: Int) {
  totalCountHistory(list: FILES, step: HOUR, last: 2) { ${POINT} }
  qrCodes(first: $first) { nodes { name } }
}`;

interface Shown {
  readonly totalCountHistory: readonly Point[];
}

const last = (data: unknown): Point | undefined => (data as Shown).totalCountHistory.at(-1);

describe('A history in a remembered response', () => {
  it.each([
    ['alone', fileCount],
    ['beside rows', withRow],
    ['in a part that variables do not change', withVariable],
  ])('%s is of the current step, and has each new point at once', async (_, query) => {
    await open();
    let asked = 0;
    const ask = async () => {
      asked += 1;
      const more = query === withVariable ? { variables: { first: asked } } : {};
      return last((await door.ask(query, null, more)).data);
    };
    await door.clock.advance(HOUR - 300);
    for (let time = 0; time < 4; time += 1) {
      expect(await ask()).toEqual({ at: '2030-01-01T01:00:00Z', value: null, observed: false });
    }
    await door.clock.advance(300);
    for (let time = 0; time < 4; time += 1) {
      expect(await ask()).toEqual({ at: '2030-01-01T02:00:00Z', value: null, observed: false });
    }
    await door.ask('{ files { totalCount } }');
    expect(await ask()).toMatchObject({ value: expect.any(Number), observed: true });
  });
});

describe('A history in a live query', () => {
  it('has new points and new steps, and costs nothing', async () => {
    await open();
    await door.clock.advance(HOUR - 60_000);
    const query = fileCount.replace('{', 'query @live {');
    const viewer = await LiveViewer.begun(door.url, { query });
    expect(last(viewer.data)).toMatchObject({ value: null, observed: false });
    await door.ask('{ files { totalCount } }');
    await door.clock.advance(3000);
    await viewer.until(() => last(viewer.data)?.observed === true);
    expect(door.calls()).toBe(1);
    await door.clock.advance(60_000);
    await viewer.until(() => last(viewer.data)?.at === '2030-01-01T02:00:00Z');
    expect(last(viewer.data)?.observed).toBe(false);
    expect(door.calls()).toBe(1);
  });
});
