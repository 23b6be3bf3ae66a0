import { beforeAll, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../../support/door.ts';
import { askKeyed } from './keyed.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none' });
});

const SHOWN =
  '__typename ... on Channel { name previous { name } } ... on Conflict { differences }';
const update = (name: string, expected: string) =>
  `mutation { updateChannel(input: { id: 21, name: "${name}" }, expected: { name: "${expected}" }) { ${SHOWN} } }`;

describe('an update with a key and expected values', () => {
  it('is replayed although the object is no longer as expected', async () => {
    const name = 'Original';
    await door.ask(`mutation { updateChannel(input: { id: 21, name: "${name}" }) { __typename } }`);
    await door.ask('{ channels(first: 100) { nodes { name } } }');
    const first = await askKeyed(door, 'one', update('Renamed', name));
    expect(first.data).toEqual({
      updateChannel: { __typename: 'Channel', name: 'Renamed', previous: { name } },
    });
    const again = await askKeyed(door, 'one', update('Renamed', name));
    expect(again).toMatchObject({ errors: [], sent: 0, replayed: 'true' });
    expect(again.data).toEqual({
      updateChannel: { __typename: 'Channel', name: 'Renamed', previous: null },
    });
  });

  it('does not use its key up if it is a conflict', async () => {
    await door.ask('mutation { updateChannel(input: { id: 21, name: "Before" }) { __typename } }');
    const conflict = await askKeyed(door, 'two', update('After', 'Something else'));
    expect(conflict.data).toEqual({
      updateChannel: { __typename: 'Conflict', differences: ['name'] },
    });
    expect(conflict).toMatchObject({ errors: [], reports: [], replayed: null });
    const done = await askKeyed(door, 'two', update('After', 'Before'));
    expect(done).toMatchObject({ errors: [], outcomes: { updateChannel: ['EXECUTED', 1] } });
  });
});
