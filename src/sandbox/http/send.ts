import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type { Answer } from './answer.ts';
import { Spool } from './spool.ts';

function payload(answer: Answer): Buffer {
  if (Buffer.isBuffer(answer.body)) return answer.body;
  if (answer.body === undefined) return Buffer.alloc(0);
  return Buffer.from(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
}

/** Sends a response. */
export function send(response: ServerResponse, answer: Answer): void {
  if (answer.body instanceof Spool) {
    const { body: spool, headers } = answer;
    response.writeHead(answer.status, { ...headers, 'content-length': spool.size });
    // A client that disconnects during the response is no error.
    pipeline(spool.read(), response, () => {});
    return;
  }
  const body = payload(answer);
  response.writeHead(answer.status, { ...answer.headers, 'content-length': body.length });
  response.end(body);
}

/** Sends half of the body under the full content-length, then closes the connection. */
export function sendHalf(response: ServerResponse, answer: Answer): void {
  const body = payload(answer);
  response.writeHead(answer.status, { ...answer.headers, 'content-length': body.length });
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
}
