import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';

const requests = new AsyncLocalStorage<IncomingMessage>();

/** Runs the work of a request, so that `currentRequestId` knows it in all that follows from that work. */
export function inRequest<T>(request: IncomingMessage, work: () => T): T {
  return requests.run(request, work);
}

/**
 * The id of the request in whose work this is called, as its answer and the log's line of its operation have it;
 * `undefined` outside of any. Of what several requests share it is the one that began it.
 */
export function currentRequestId(): string | undefined {
  const id = requests.getStore()?.headers['x-request-id'];
  return typeof id === 'string' ? id : undefined;
}
