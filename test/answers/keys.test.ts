import { beforeEach, describe, expect, it } from 'vitest';
import { type Door, openDoor } from '../support/door.ts';
import { refuseKey } from '../support/refused-key.ts';

const ACCOUNT = '{ account { username } channels { nodes { name } } }';
const SELLER = '{ seller { username } }';

describe('Remembered answers to callers with keys of their own', () => {
  let door: Door;

  beforeEach(async () => {
    door = await openDoor({ AUTH_MODE: 'passthrough' });
  });

  const remembered = async (): Promise<number> => {
    const { text } = await door.send('/metrics');
    return Number(/^gateway_remembered_answers_total (\d+)/m.exec(text)?.[1]);
  };
  const teach = async (query: string, key: string): Promise<void> => {
    for (let n = 0; n < 3; n += 1) await door.ask(query, key);
  };

  it('are those of the key', async () => {
    const { free, pro } = door.sandbox.links.keys;
    await teach(ACCOUNT, pro);
    const before = await remembered();
    const ofFree = await door.ask(ACCOUNT, free);
    expect(await remembered()).toBe(before);
    expect(ofFree.data).not.toEqual((await door.ask(ACCOUNT, pro)).data);
    expect((await door.ask(ACCOUNT, 'made-up')).code).toBe('UPSTREAM_UNAUTHENTICATED');
    expect((await door.ask(SELLER, 'made-up')).code).toBe('UPSTREAM_UNAUTHENTICATED');
  });

  it('are forgotten with a key that the upstream refuses', async () => {
    const { pro } = door.sandbox.links.keys;
    await teach(ACCOUNT, pro);
    await teach(SELLER, pro);
    expect(await remembered()).toBe(2);
    refuseKey(door, pro);
    // One answer is not cached yet: its read finds out.
    await door.ask('{ domains { nodes { id } } }', pro);
    for (const query of [ACCOUNT, SELLER]) {
      expect((await door.ask(query, pro)).code).toBe('UPSTREAM_UNAUTHENTICATED');
    }
    expect(await remembered()).toBe(2);
  });
});
