import type { Dispatcher } from 'undici';
import sendRequest from 'undici/lib/api/api-request.js';

// Only what is used: the whole of undici, with its fetch, its WebSocket and its mocks, takes 2 MB more at rest.
export { default as errors } from 'undici/lib/core/errors.js';
export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export { default as DecoratorHandler } from 'undici/lib/handler/decorator-handler.js';

/** Sends one request through a dispatcher, as `request` of undici does. */
export function request(
  dispatcher: Dispatcher,
  url: string,
  options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>,
): Promise<Dispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url);
  return sendRequest.call(dispatcher, { ...options, origin, path: `${pathname}${search}` });
}
