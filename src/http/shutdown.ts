import type { Clock } from '../scheduling/clock.ts';
import type { Client } from '../upstream/client.ts';
import type { Ports } from './server.ts';

/** Share of the grace period in which queued writes may still be sent; the rest is for their responses. */
const LAST_WRITES = 0.8;
/** Share of the grace period in which upstreams may respond; in the rest, callers are told that they did not. */
const LAST_ANSWERS = 0.95;

/**
 * Stops in an order that leaves no caller without a response. The gateway reports that it is not ready, rejects
 * queued reads with the time to retry, accepts no new connection, and completes running operations and writes. It
 * then abandons upstream requests without a response, and closes everything after `graceMs`.
 */
export async function shutDown(parts: {
  readonly clock: Clock;
  readonly ports: Ports;
  /** Ends streams, which would otherwise never end. */
  readonly endStreams: () => void;
  readonly clients: readonly Client[];
  /** The connections to the upstreams. */
  readonly dispatcher: { close(): Promise<void>; destroy(): Promise<void> };
  readonly graceMs: number;
}): Promise<void> {
  const { clients, clock, dispatcher, endStreams, graceMs, ports } = parts;
  const { callers, operators } = ports;
  callers.retire();
  operators?.retire();
  endStreams();
  for (const client of clients) client.budgets.drain(graceMs * LAST_WRITES);
  let overdue = false;
  let cancel = (): void => {};
  const cut = new Promise<void>((resolve) => {
    cancel = clock.after(graceMs * LAST_ANSWERS, () => {
      overdue = true;
      resolve(dispatcher.destroy());
    });
  });
  await Promise.all([callers.close(), operators?.close()]);
  // A write whose client disconnected has no connection here, but its outcome must still be received.
  await (overdue ? cut : Promise.race([dispatcher.close(), cut]));
  cancel();
}
