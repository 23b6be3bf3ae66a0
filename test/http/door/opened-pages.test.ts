import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, it } from 'vitest';
import { openDoor } from '../../support/door.ts';
import { builtPages, describeWith } from '../../support/needs.ts';

describeWith(builtPages, 'Over plain HTTP, beyond this machine', () => {
  it('a browser opens a page by its address', async () => {
    const door = await openDoor({ AUTH_MODE: 'none', HOST: '0.0.0.0' });
    const { port } = new URL(door.url);
    const headers = {
      host: 'gateway.example:4000',
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/142.0',
      accept: 'text/html',
    };
    const sent = request({ host: '127.0.0.1', port, path: '/graphql', headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.destroy();
    await door.close();
    expect(response.statusCode).toBe(200);
  });
});
