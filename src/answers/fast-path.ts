import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../auth/viewer.ts';
import type { Clock } from '../clock.ts';
import type { Callers } from '../http/door/caller.ts';
import { isJson } from '../http/door/envelope.ts';
import { repeatedHeader } from '../http/door/host-guard.ts';
import { headerOf, type Origins } from '../http/door/origins.ts';
import type { CompiledQueries } from './compiled-queries.ts';
import type { RememberedAnswers } from './remembered-answers.ts';
import type { Recipient, Replies } from './replies.ts';
import { answerKeyOf, askedOperation, type RequestNames } from './request-names.ts';

/** A longer operation is not remembered. */
const MAX_BODY_BYTES = 16 * 1024;

/** Headers with any of which an answer can be another, or has others of its own. */
const UNUSUAL = [
  'content-encoding',
  'expect',
  'prefer',
  'transfer-encoding',
  'x-gateway-dry-run',
] as const;

/** What else becomes of requests that came the fast path. */
interface Fallback {
  /**
   * One is not answered here. `names` is null where nothing of it is to be remembered; `waited` tells
   * whether `waits` was called.
   */
  readonly whole: (
    request: IncomingMessage,
    response: ServerResponse,
    how: { readonly names: RequestNames | null; readonly waited: boolean },
  ) => void;
  /** Runs what takes a while for an owner, now or in a later turn of the event loop, if its sender still waits then. */
  readonly inTurn: (request: IncomingMessage, owner: string, work: () => void) => void;
  /** The body of one has not come yet. Until it has, nothing else is called for it. */
  readonly waits: (request: IncomingMessage, response: ServerResponse) => void;
  /** One was answered, and its sender has not taken all of that yet. */
  readonly onUnread: (response: ServerResponse) => void;
  /** Whether connections end with their next answer. */
  readonly closing: () => boolean;
}

/** A request whose sender is known, and whose body may have come. */
interface Arrival extends Recipient {
  readonly fallback: Fallback;
}

/** What a host looks like; of any other it is found out on the whole way what is wrong with it. */
const HOST = /^[\w.:[\]-]+$/;

/** Answers an operation in front of everything else, or hands it on with the name that it goes by. */
export interface FastPath {
  /** Whether a request is of the plain kind: a small operation, with nothing unusual about it. */
  takes(request: IncomingMessage): boolean;
  /** Answers, or hands on: at the end of this turn of the event loop, or once the body is there. */
  answer(request: IncomingMessage, response: ServerResponse, fallback: Fallback): void;
}

/** Makes the fast path over what is remembered. */
export function createFastPath(options: {
  readonly answers: RememberedAnswers;
  readonly operations: CompiledQueries;
  readonly replies: Replies;
  readonly callers: Callers;
  readonly clock: Clock;
  readonly origins: Origins;
}): FastPath {
  const { answers, callers, clock, operations, origins, replies } = options;

  /** Answers an operation from memory, or hands it on. `body` is null of a GET. */
  const settle = (arrival: Arrival, body: Buffer | null, waited: boolean): void => {
    const { caller, fallback, request, response } = arrival;
    const key = answerKeyOf(caller, request, body?.toString('latin1') ?? request.url ?? '');
    const now = clock.now();
    const answer = answers.find(key, now);
    if (answer && !fallback.closing()) {
      replies.give(arrival, answer, now);
      noteUnread(arrival);
      return;
    }
    // Whoever answers it, here or there, reads it again.
    if (body) request.unshift(body);
    const asked = askedOperation(request, body);
    const names = { answer: key, operation: asked?.key ?? null };
    if (!asked || !operations.knows(asked.key)) {
      fallback.whole(request, response, { names, waited });
      return;
    }
    fallback.inTurn(request, caller.name, () => {
      if (fallback.closing() || !replies.execute(arrival, names, asked)) {
        fallback.whole(request, response, { names, waited });
      } else {
        request.resume();
        noteUnread(arrival);
      }
    });
  };

  const noteUnread = ({ fallback, response }: Arrival): void => {
    if ((response.socket?.writableLength ?? 0) > 0) fallback.onUnread(response);
  };

  const waitFor = (arrival: Arrival): void => {
    const { fallback, request, response } = arrival;
    fallback.waits(request, response);
    const look = (): void => {
      const body = readBody(request);
      if (body === null && !request.complete) return;
      request.removeListener('readable', look);
      if (body) settle(arrival, body, true);
      else fallback.whole(request, response, { names: null, waited: true });
    };
    request.on('readable', look);
  };

  let arrivals: Arrival[] = [];
  /** Most bodies come along with their head: all of those are read at once, and without a listener. */
  const readArrivals = (): void => {
    const arrived = arrivals;
    arrivals = [];
    for (const arrival of arrived) {
      // Nobody waits for the answer to one that was broken off.
      if (arrival.request.destroyed) continue;
      const body = readBody(arrival.request);
      if (body) settle(arrival, body, false);
      else waitFor(arrival);
    }
  };

  /** Nearly always it is the same one again. */
  let lastHost = '';
  const isHost = (host = ''): boolean => {
    if (host === '' || (host !== lastHost && !HOST.test(host))) return false;
    lastHost = host;
    return true;
  };

  return {
    takes(request) {
      const { headers, method, url = '' } = request;
      if (method === 'GET') {
        // A browser that opens the page gets GraphiQL.
        if (!url.startsWith('/graphql?') || headers.accept?.includes('text/html')) return false;
        if (headers['content-length'] !== undefined) return false;
        // Even an answer from memory can bring about a refresh.
        if (!origins.trustsGet(headerOf(request))) return false;
      } else {
        if (method !== 'POST' || url !== '/graphql') return false;
        const length = Number(headers['content-length']);
        if (!(length > 0 && length <= MAX_BODY_BYTES)) return false;
        if (!isJson(headers['content-type'])) return false;
      }
      for (const name of UNUSUAL) {
        if (headers[name] !== undefined) return false;
      }
      return isHost(headers.host) && repeatedHeader(request) === null;
    },
    answer(request, response, fallback) {
      const caller = identified(callers, request);
      if (!caller) {
        // Whoever cannot be known at once goes the whole way, and hears there why.
        fallback.whole(request, response, { names: null, waited: false });
        return;
      }
      const { headers } = origins.rightsOf(request.headers.origin);
      const arrival = { caller, fallback, headers, request, response };
      if (request.method === 'GET') settle(arrival, null, false);
      else if (arrivals.push(arrival) === 1) setImmediate(readArrivals);
    },
  };
}

/** The body of a request, once all of it is there; what is less stays where it is. */
function readBody(request: IncomingMessage): Buffer | null {
  const length = Number(request.headers['content-length']);
  const body = request.read(length) as Buffer | null;
  if (body === null || body.length === length) return body;
  request.unshift(body);
  return null;
}

/** Who sent a request, where that is known at once. */
function identified(callers: Callers, request: IncomingMessage): Viewer | null {
  try {
    const viewer = callers.identify(request.headers.authorization, request);
    if (!(viewer instanceof Promise)) return viewer;
    // It is asked once more on the whole way, and answered there.
    viewer.catch(() => {});
    return null;
  } catch {
    return null;
  }
}
