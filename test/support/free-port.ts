import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of this machine that is free, and stays so: not one of those that a system gives to connections and to servers
 * which ask for any.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').catch(() => null);
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
