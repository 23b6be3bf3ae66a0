import type { IncomingMessage, ServerResponse } from 'node:http';
import { inBackground } from '../../../scheduling/at-once.ts';
import type { Clock } from '../../../scheduling/clock.ts';
import type { SendBody } from '../../respond.ts';

/** How long a request may take to send its body, in milliseconds. Uploads have a rule of their own. */
const BODY_MS = 60_000;
/** How long the rest of a body is read and discarded, so that the client can read the response. */
const LINGER_MS = 1000;

/**
 * Sends a response to a request whose body may not have arrived completely. Closing the connection while the
 * client is sending would reset it, and the response would be lost.
 */
export function lingering(clock: Clock): SendBody {
  return (response, body) => {
    const request = response.req;
    if (request.complete || !hasBody(request)) {
      response.end(body);
      return;
    }
    response.setHeader('Connection', 'close');
    // A client that waits for `100 Continue` sends nothing after a final response.
    if (expectsContinue(request) && !request.readableDidRead) {
      response.end(body);
      return;
    }
    response.write(body);
    const cancel = clock.after(LINGER_MS, () => response.end());
    inBackground(
      drain(request).finally(() => {
        cancel();
        response.end();
      }),
    );
  };
}

/**
 * Closes the connection of a request whose body takes longer than a minute, unless it is `unhurried`, or does not
 * arrive soon after its response was complete: Node would read and discard the rest without a time limit.
 */
export function limitBodyTime(
  request: IncomingMessage,
  response: ServerResponse,
  { clock, unhurried }: { readonly clock: Clock; readonly unhurried: boolean },
): void {
  if (request.complete || !hasBody(request)) return;
  if (!unhurried) {
    const cancel = clock.after(BODY_MS, () => {
      if (!request.complete) request.destroy();
    });
    request.once('close', cancel);
  }
  response.once('finish', () => {
    if (request.complete) return;
    clock.after(LINGER_MS, () => {
      if (!request.complete) request.socket.destroy();
    });
  });
}

/** Whether a request announces a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  return (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined;
}

/** Whether the sender of a request waits for `100 Continue` before it sends the body. */
export function expectsContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue';
}

/** Reads the rest of a body, and discards it. */
async function drain(request: IncomingMessage): Promise<void> {
  try {
    for await (const _ of request.iterator({ destroyOnReturn: false }));
  } catch {
    // The sender has closed the connection, which is all that was waited for.
  }
}
