import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';

/**
 * The id alone, not the request: Node keeps it with each timer and socket that was made in its work, for
 * as long as these last, and a connection to an upstream outlasts the request and its credential by far.
 */
const requests = new AsyncLocalStorage<string | undefined>();

/** Runs the work of a request, so that `currentRequestId` knows it in all that follows from that work. */
export function inRequest<T>({ headers }: IncomingMessage, work: () => T): T {
  const id = headers['x-request-id'];
  return requests.run(typeof id === 'string' ? id : undefined, work);
}

/**
 * The id of the request in whose work this is called, as its answer and the log's line of its operation have it;
 * `undefined` outside of any. Of what several requests share it is the one that began it.
 */
export function currentRequestId(): string | undefined {
  return requests.getStore();
}
