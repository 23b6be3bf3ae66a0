import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BusyGateway, busyGateway } from '../support/busy-gateway.ts';
import { rounds } from '../support/rounds.ts';
import type { Message } from '../support/wild.ts';
import * as wild from '../support/wild.ts';

const numRuns = rounds(75);

let busy: BusyGateway;
const faults: unknown[] = [];
const notice = (error: unknown): void => void faults.push(error);

beforeAll(async () => {
  // Nothing waits, so that thousands of operations are answered at once when the budget is spent.
  // As their sources are: what they load is there only once it is built.
  busy = await busyGateway({ MAX_WAIT_MS: '0' }, { pages: 'pages' });
  process.on('unhandledRejection', notice);
  process.on('uncaughtException', notice);
});
afterAll(() => {
  process.off('unhandledRejection', notice);
  process.off('uncaughtException', notice);
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

function send({ method, path, headers, body }: Message): Promise<Answer | 'refused to be sent'> {
  return new Promise((resolve, reject) => {
    let sent: ReturnType<typeof request>;
    try {
      sent = request(busy.url + path, { method, headers });
    } catch {
      // Node's client knows better than to send this.
      resolve('refused to be sent');
      return;
    }
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // A connection may be closed on a body that is not needed.
      if (error.code === 'EPIPE' || error.code === 'ECONNRESET') resolve({ status: 413, text: '' });
      else reject(error);
    });
    sent.on('response', (response: IncomingMessage) => {
      text(response).then(
        (all) => resolve({ status: response.statusCode ?? 0, text: all }),
        () => resolve({ status: response.statusCode ?? 0, text: '' }),
      );
    });
    sent.end(body ?? undefined);
  });
}

/** Never a crash, a fault of ours, or a word about our inside; a 503 only with a code that says why. */
async function holdsUp(message: Message): Promise<void> {
  const answer = await send(message);
  if (answer === 'refused to be sent') return;
  const { status, text: body } = answer;
  const story = `${message.method} ${message.path} got ${status}: ${body.slice(0, 500)}`;
  expect(status < 500 || (status === 503 && /"code":"(BUDGET|UPSTREAM)_/.test(body)), story).toBe(
    true,
  );
  // The metrics count it from the start: none so far.
  const told = body.replace('errors_total{code="INTERNAL_SERVER_ERROR"} 0\n', '');
  expect(told, story).not.toContain('INTERNAL_SERVER_ERROR');
  for (const secret of [busy.sandbox.links.key, busy.sandbox.market.key]) {
    expect(body.includes(secret), story).toBe(false);
  }
  const upstreams = [busy.sandbox.links.url, busy.sandbox.market.url];
  // What is repeated of the request itself is no leak.
  const asked = `${message.path} ${String(message.body)}`;
  const leak = /node_modules|\bat \S+ \(|\.[jt]s:\d+:\d+/.exec(body)?.[0];
  expect(leak === undefined || asked.includes(leak), story).toBe(true);
  // The address of a file that was stored is what was asked for.
  expect(status >= 400 && upstreams.some((url) => body.includes(url)), story).toBe(false);
  expect(faults, story).toEqual([]);
}

describe('the gateway holds up against', () => {
  it.each<[string, fc.Arbitrary<Message>]>([
    ['query texts', wild.anyQuery],
    ['variables', wild.anyVariables],
    ['inputs of mutations', wild.anyInput],
    ['bodies that are no operation', wild.anyBody],
    ['methods, paths and query strings', wild.anyTarget],
    ['headers and content types', wild.anyHeaders],
    ['multipart bodies', wild.anyMultipart],
    ['names of files', wild.anyFile],
  ])('%s', async (_, messages) => {
    await fc.assert(fc.asyncProperty(messages, holdsUp), { numRuns });
  });

  it('parameters in the query string that are no JSON, by saying so', async () => {
    for (const name of ['variables', 'extensions']) {
      const response = await fetch(`${busy.url}/graphql?query={__typename}&${name}={`);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain('"code":"BAD_USER_INPUT"');
    }
  });

  it('a multipart request whose operation is null, by saying so', async () => {
    const form = new FormData();
    form.set('operations', 'null');
    form.set('map', '{}');
    const headers = { 'apollo-require-preflight': 'true' };
    const response = await fetch(`${busy.url}/graphql`, { method: 'POST', headers, body: form });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('"code":"BAD_USER_INPUT"');
  });

  it('all of it, without a defect in the log, and still answers', async () => {
    expect((await fetch(`${busy.url}/livez`)).status).toBe(200);
    expect(busy.lines().filter(({ msg }) => msg === 'unexpected error')).toEqual([]);
  });
});
