import type { DuplexOptions } from 'node:stream';
import type { buildConnector } from 'undici';
import Agent from 'undici/lib/dispatcher/agent.js';

// Only what is used: the whole of undici, with its fetch, its WebSocket and its mocks, takes 2 MB more at rest.
export { default as errors } from 'undici/lib/core/errors.js';

/** Largest upstream response. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * How much may wait in a socket before the sender has to: some pieces of an upload, which are 64 KiB at
 * most. With room for less than one, each piece that the system takes at once would still cost a wait.
 */
const UNSENT_BYTES = 256 * 1024;

/** The sockets to both upstreams. The caller closes it. */
export function createDispatcher(): Agent {
  // It passes unknown options on to the socket.
  const connect: Partial<buildConnector.BuildOptions> & DuplexOptions = {
    highWaterMark: UNSENT_BYTES,
  };
  return new Agent({ maxResponseSize: MAX_ANSWER_BYTES, connect });
}
