import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';

/** How long what is left of a body is read, so that its sender gets to see the answer. */
const LINGER_MS = 1000;

/**
 * Sends a whole answer, whose head is not sent yet, to a request whose body may still be on its way.
 * Closing on a sender in full flow would reset the connection, and take the answer from them.
 */
export function endLingering(
  request: IncomingMessage,
  response: ServerResponse,
  clock: Clock,
  text: string,
): void {
  response.setHeader('Content-Length', Buffer.byteLength(text));
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (request.complete || (length === '0' && encoding === undefined)) {
    response.end(text);
    return;
  }
  response.setHeader('Connection', 'close');
  // Who waits for a word before sending will send nothing now.
  if (expectsContinue(request) && !request.readableDidRead) {
    response.end(text);
    return;
  }
  response.write(text);
  const cancel = clock.after(LINGER_MS, () => response.end());
  void drain(request).finally(() => {
    cancel();
    response.end();
  });
}

/** Whether a request holds back its body until it is asked for. */
export function expectsContinue({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue';
}

/** Reads what is still to come, and forgets it. */
async function drain(request: IncomingMessage): Promise<void> {
  try {
    for await (const _ of request.iterator({ destroyOnReturn: false }));
  } catch {
    // The sender is gone, and that is all right now.
  }
}
