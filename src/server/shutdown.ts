import type { Clock } from '../clock.ts';
import type { Client } from '../upstream/client.ts';
import type { HttpServer } from './http.ts';

/** Share of the grace in which a write may still leave; the rest is for its answer. */
const LAST_WRITES = 0.8;
/** Share of the grace after which upstreams are waited for no more; the rest is for saying so. */
const LAST_ANSWERS = 0.95;

/**
 * Stops in an order in which nobody is left without an answer: not ready any more; no new connection;
 * reads that wait are told when to try again; running operations and writes finish. What an upstream has
 * not answered by then is given up, which its caller is told, and after `graceMs` all is cut off.
 */
export async function shutDown(parts: {
  readonly clock: Clock;
  readonly http: HttpServer;
  readonly clients: readonly Client[];
  /** The connections to the upstreams. */
  readonly dispatcher: { close(): Promise<void>; destroy(): Promise<void> };
  readonly delayMs: number;
  readonly graceMs: number;
}): Promise<void> {
  const { clients, clock, delayMs, dispatcher, graceMs, http } = parts;
  http.retire();
  if (delayMs > 0) {
    await new Promise<void>((resolve) => {
      clock.after(delayMs, resolve);
    });
  }
  for (const client of clients) client.drain(graceMs * LAST_WRITES);
  let overdue = false;
  let cancel = (): void => {};
  const cut = new Promise<void>((resolve) => {
    cancel = clock.after(graceMs * LAST_ANSWERS, () => {
      overdue = true;
      resolve(dispatcher.destroy());
    });
  });
  await http.close();
  // A write whose caller hung up is on no connection of ours, and still wants its answer.
  if (!overdue) await Promise.race([dispatcher.close(), cut]);
  cancel();
}
