import type { DuplexOptions } from 'node:stream';
import type { buildConnector } from 'undici';
// Only the part in use: all of undici, with fetch, WebSocket and mocks, takes 2 MB more memory.
import Agent from 'undici/lib/dispatcher/agent.js';

/** Largest upstream response, as sent and unpacked. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Number of bytes that a socket buffers before the sender waits: some pieces of an upload, of at most 64 KiB each. With
 * less than one piece, each piece that the system accepts immediately would still cause a wait.
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
