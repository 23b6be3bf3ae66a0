import { freePort } from '../../support/free-port.ts';
import { type Answer, headerOf } from './answer.ts';
import { type Server, startText } from './servers.ts';

/** Headers without which the same bytes would mean something else. */
const NEEDED = ['content-type', 'content-encoding', 'etag'];

/** An answer that is sent to everything that comes to a port. */
interface Given {
  readonly port: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** As base64. */
  readonly body: string;
}

/** Bare `node:http`: reads the body of a request and sends an answer that it has in memory. No server in Node is faster. */
const program = (given: readonly Given[]): string => `
import { createServer } from 'node:http';
for (const { port, status, headers, body } of ${JSON.stringify(given)}) {
  const answer = Buffer.from(body, 'base64');
  createServer((request, response) => {
    let text = '';
    request.setEncoding('latin1').on('data', (piece) => { text += piece; }).on('end', () => {
      response.writeHead(status, headers).end(answer);
    });
  }).listen(port, '127.0.0.1');
}
`;

/** Bare servers in one process, each with one of the answers; `more` are headers that all of them have besides. */
export async function startBare(
  answers: readonly Answer[],
  more: Readonly<Record<string, string>> = {},
): Promise<{ readonly servers: readonly Server[]; readonly stop: () => Promise<void> }> {
  const given: Given[] = [];
  for (const answer of answers) {
    const body = Buffer.from(answer.body, 'latin1');
    const headers: Record<string, string> = { ...more };
    for (const name of NEEDED) {
      const value = headerOf(answer, name);
      if (value !== null) headers[name] = value;
    }
    if (answer.status === 200) headers['content-length'] = String(body.length);
    const port = await freePort();
    given.push({ port, status: answer.status, headers, body: body.toString('base64') });
  }
  // The last to listen, so that by then all do.
  const PORT = String(given.at(-1)?.port);
  const server = await startText(`bench-bare-${PORT}.mjs`, program(given), { PORT });
  return {
    servers: given.map(({ port }) => ({ ...server, port })),
    stop: () => server.stop(),
  };
}
