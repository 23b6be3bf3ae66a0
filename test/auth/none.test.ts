import { describe, expect, it } from 'vitest';
import { openDoor } from '../support/door.ts';
import { askRaw } from '../support/raw-reply.ts';

describe('AUTH_MODE=none', () => {
  it('identifies callers by address, and permits everything', async () => {
    const door = await openDoor({ AUTH_MODE: 'none', HOST: '0.0.0.0' });
    for (const localAddress of ['127.0.0.1', '127.0.0.2']) {
      const asked = askRaw(`${door.url}/graphql?query={plans{name}}`, { localAddress });
      expect((await asked).status).toBe(200);
      expect(door.log()).toContain(`"caller":"${localAddress}"`);
    }
    // What a caller may show is not looked at.
    expect((await door.ask('{ account { username } }', 'made-up')).status).toBe(200);
  });
});
