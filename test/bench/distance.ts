import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server that takes time, as real ones do. */
export interface Distance {
  readonly url: string;
  close(): Promise<void>;
}

/** Puts a server this many milliseconds away: that long for each request, and again for its answer. */
export async function putAway(serverUrl: string, ms: number): Promise<Distance> {
  const { hostname, port, pathname } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (bytes) => setTimeout(() => void (to.writable && to.write(bytes)), ms));
    // A broken connection ends like any other here; its two ends notice by themselves.
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      setTimeout(() => to.destroy(), ms);
    });
  };
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    pass(near, far);
    pass(far, near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname.replace(/\/$/, '')}`,
    async close() {
      const closed = once(server.close(), 'close');
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
