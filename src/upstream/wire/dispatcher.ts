import { Agent } from 'undici';

/** Largest upstream answer. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** The sockets to both upstreams. Whoever makes it closes it. */
export function createDispatcher(): Agent {
  return new Agent({ maxResponseSize: MAX_ANSWER_BYTES });
}
