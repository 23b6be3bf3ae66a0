import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { inBackground } from '../../../src/scheduling/at-once.ts';

/** Requests that it says it allows. */
const LIMIT = 1000;

/** What was asked for, when the request came in and when it was answered, by `performance.now()`. */
interface Arrival {
  readonly path: string;
  readonly at: number;
  answeredAt: number;
}

/** The link API, this many milliseconds away. */
export interface Upstream {
  readonly url: string;
  /** The requests, in the order in which they came in. */
  readonly arrivals: readonly Arrival[];
  /** Forgets what came in, and what it counted. */
  forget(): void;
  close(): void;
}

/** What a sandbox has answered, by path: read from it once, so that it takes no time while anything is measured. */
export type Answers = Map<string, string>;

/** Answers what a sandbox does, this many milliseconds after each request, and says what is left of its limit. */
export async function startUpstream(
  sandbox: Sandbox,
  answers: Answers,
  latencyMs: number,
): Promise<Upstream> {
  const arrivals: Arrival[] = [];
  const read = async (path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${sandbox.links.key}` };
    const text = await (await fetch(`${sandbox.links.url}${path}`, { headers })).text();
    answers.set(path, text);
    return text;
  };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const arrival = { path, at: performance.now(), answeredAt: Number.POSITIVE_INFINITY };
    arrivals.push(arrival);
    const remaining = LIMIT - arrivals.length;
    const answer = (body: string): void => {
      arrival.answeredAt = performance.now();
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'x-ratelimit-limit': LIMIT,
        'x-ratelimit-remaining': remaining,
      });
      response.end(body);
    };
    setTimeout(() => {
      const known = answers.get(path);
      if (known === undefined) inBackground(read(path).then(answer));
      else answer(known);
    }, latencyMs);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    forget: () => {
      arrivals.length = 0;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** How many requests stand one behind the other at most: each left once the one before it was answered. */
export function roundTrips(arrivals: Upstream['arrivals']): number {
  const trips: number[] = [];
  for (const { at } of arrivals) {
    const before = trips.filter((_, index) => (arrivals[index]?.answeredAt ?? at) < at);
    trips.push(1 + Math.max(0, ...before));
  }
  return Math.max(0, ...trips);
}
