import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../auth/viewer.ts';
import type { Admission } from '../http/door/admission.ts';
import { isJson } from '../http/door/body/operation-body.ts';
import type { Callers } from '../http/door/caller.ts';
import { type AtOnce, inBackground } from '../scheduling/at-once.ts';
import type { Clock } from '../scheduling/clock.ts';
import { inNextTurn } from '../scheduling/loop-turns.ts';
import type { RememberedAnswers } from './remembered-answers.ts';
import type { Recipient, Replies } from './replies.ts';

/** Maximum length of a remembered operation. */
const MAX_BODY_BYTES = 16 * 1024;

/** Headers that change the response or require additional headers. */
const UNUSUAL = ['content-encoding', 'expect', 'transfer-encoding', 'x-gateway-dry-run'] as const;

/** A request that the door has admitted. */
export interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly admission: Admission;
  /** All inputs of its response; null if that is not to be remembered. */
  answerKey: string | null;
  /** Whether timeouts apply to it, and a graceful shutdown waits for it. */
  isWatched: boolean;
}

/** The functions of the server for requests on the fast path. */
export interface FastPathServer {
  /** Handles the request in the normal execution. */
  serve(arrival: Arrival): void;
  /** Applies timeouts to an awaited request, and lets a graceful shutdown wait for it. */
  watch(arrival: Arrival): void;
  readonly drain: {
    /** Whether connections are closed after their next response. */
    readonly begun: boolean;
    /** Applies timeouts to a response that the client has not received completely. */
    watch(response: ServerResponse): void;
  };
}

/** A received request with a known caller. */
interface KnownRequest extends Recipient {
  readonly arrival: Arrival;
  readonly server: FastPathServer;
}

/** Responds to an operation before the normal execution, or passes it on with its key. */
export interface FastPath {
  /** Whether a request is simple: a small operation without special headers. */
  takes(request: IncomingMessage, admission: Admission): boolean;
  /**
   * Responds, or passes the request to the server: at the end of this turn of the event loop, or when the body is
   * complete.
   */
  answer(arrival: Arrival, server: FastPathServer): void;
}

/** Creates the fast path for remembered responses. */
export function createFastPath(options: {
  readonly answers: RememberedAnswers;
  readonly replies: Replies;
  readonly callers: Callers;
  readonly clock: Clock;
}): FastPath {
  const { answers, callers, clock, replies } = options;

  /** Responds to an operation from memory, or passes it on. `body` is null for a GET. */
  const settle = (known: KnownRequest, body: Buffer | null): void => {
    const { arrival, caller, request, server } = known;
    const key = answerKeyOf(caller, request, body?.toString('latin1') ?? request.url ?? '');
    const now = clock.now();
    const answer = answers.find(key, now);
    if (answer && !server.drain.begun) {
      replies.give(known, answer, now);
      noteUnread(known);
      return;
    }
    // The normal execution reads it again.
    if (body) request.unshift(body);
    arrival.answerKey = key;
    server.serve(arrival);
  };

  const noteUnread = ({ response, server }: KnownRequest): void => {
    if ((response.socket?.writableLength ?? 0) > 0) server.drain.watch(response);
  };

  const waitForBody = (known: KnownRequest): void => {
    const { arrival, request, server } = known;
    server.watch(arrival);
    const look = (): void => {
      const body = readBody(request);
      if (body === null && !request.complete) return;
      request.removeListener('readable', look);
      if (body) settle(known, body);
      else server.serve(arrival);
    };
    request.on('readable', look);
  };

  let bodies: KnownRequest[] = [];
  /** Most bodies arrive with their head: these are read immediately, without a listener. */
  const readBodies = (): void => {
    const arrived = bodies;
    bodies = [];
    for (const known of arrived) {
      // The client of an aborted request reads no response.
      if (known.request.destroyed) continue;
      const body = readBody(known.request);
      if (body) settle(known, body);
      else waitForBody(known);
    }
  };

  /** A cached response needs no wait, so a preferred wait only changes this header. */
  const applied = (prefer: string): readonly string[] => {
    const wait = callers.preferenceApplied(prefer);
    return wait === null ? [] : ['Preference-Applied', wait];
  };

  const goOn = (arrival: Arrival, caller: Viewer | null, server: FastPathServer): void => {
    const { admission, request, response } = arrival;
    if (request.destroyed) return;
    if (!caller) {
      server.serve(arrival);
      return;
    }
    const cors = admission.origin.headers;
    const { prefer } = request.headers;
    const headers = prefer === undefined ? cors : [...cors, ...applied(prefer.toString())];
    const known = { arrival, caller, headers, request, response, server };
    if (request.method === 'GET') settle(known, null);
    else if (bodies.push(known) === 1) inNextTurn(readBodies);
  };

  return {
    takes(request, admission) {
      const { headers, method, url = '' } = request;
      if (admission.fault !== null || !admission.host.isKnown || !admission.host.isValid) {
        return false;
      }
      if (method === 'GET') {
        // A browser that opens the page gets GraphiQL.
        if (!url.startsWith('/graphql?') || headers.accept?.includes('text/html')) return false;
        if (headers['content-length'] !== undefined) return false;
        // Even a remembered response can cause a refresh.
        if (admission.getRefusal !== null) return false;
      } else {
        if (method !== 'POST' || url !== '/graphql') return false;
        const length = Number(headers['content-length']);
        if (!(length > 0 && length <= MAX_BODY_BYTES)) return false;
        if (!isJson(headers['content-type'])) return false;
      }
      for (const name of UNUSUAL) {
        if (headers[name] !== undefined) return false;
      }
      return true;
    },
    answer(arrival, server) {
      const caller = callerOf(arrival.admission);
      if (!(caller instanceof Promise)) {
        goOn(arrival, caller, server);
        return;
      }
      server.watch(arrival);
      inBackground(caller.then((known) => goOn(arrival, known, server)));
    },
  };
}

/** All inputs of a response: partition, role, content type, and the request itself. */
function answerKeyOf(
  { linksCredential, role }: Viewer,
  { headers, method }: IncomingMessage,
  text: string,
): string {
  const { accept = '', 'content-type': type = '' } = headers;
  // A header contains no line break, so one value cannot be mistaken for two.
  return `${linksCredential?.partition ?? ''}\n${role}\n${method}\n${accept}\n${type}\n${text}`;
}

/** The body of a request once it is complete; partial data stays in the stream. */
function readBody(request: IncomingMessage): Buffer | null {
  const length = Number(request.headers['content-length']);
  const body = request.read(length) as Buffer | null;
  if (body === null || body.length === length) return body;
  request.unshift(body);
  return null;
}

/** The caller of a request; `null` if it is rejected, which the normal execution reports. */
function callerOf(admission: Admission): AtOnce<Viewer | null> {
  try {
    const viewer = admission.identify();
    return viewer instanceof Promise ? viewer.catch(() => null) : viewer;
  } catch {
    return null;
  }
}
