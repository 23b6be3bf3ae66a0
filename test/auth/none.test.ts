import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openDoor } from '../support/door.ts';

describe('AUTH_MODE=none', () => {
  it('identifies callers by address, and permits everything', async () => {
    const door = await openDoor({ AUTH_MODE: 'none', HOST: '0.0.0.0' });
    const { port } = new URL(door.url);
    for (const localAddress of ['127.0.0.1', '127.0.0.2']) {
      const path = '/graphql?query={plans{name}}';
      const sent = request({ host: '127.0.0.1', port, path, localAddress }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      await once(response, 'end');
      expect(response.statusCode).toBe(200);
      expect(door.log()).toContain(`"caller":"${localAddress}"`);
    }
    // What a caller may show is not looked at.
    expect((await door.ask('{ account { username } }', 'made-up')).status).toBe(200);
  });
});
