import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../../auth/viewer.ts';
import type { Clock } from '../../clock.ts';
import type { Observer } from '../../observe/observer.ts';
import type { Callers } from '../door/caller.ts';
import { holdsETag } from '../door/etag.ts';
import { repeatedHeader } from '../door/host-guard.ts';
import { requestIdOf } from '../door/request-id.ts';
import { securityHeaders } from '../door/security-headers.ts';
import type { AnswerTally } from './answer-tally.ts';
import { cutAtAge } from './answer-text.ts';
import type { OperationsAtHand } from './operations-at-hand.ts';
import type { RememberedAnswer, RememberedAnswers } from './remembered-answers.ts';
import {
  type AskedOperation,
  answerKeyOf,
  askedOperation,
  type RequestNames,
} from './request-names.ts';

/** A longer operation is not remembered. */
const MAX_BODY_BYTES = 16 * 1024;

/** Headers with any of which an answer can be another, or has others of its own. */
const UNUSUAL = [
  'content-encoding',
  'expect',
  'origin',
  'prefer',
  'sec-fetch-site',
  'transfer-encoding',
  'x-gateway-dry-run',
] as const;

/** What else becomes of a request that came the short way. */
interface Otherwise {
  /** It is not answered here. `names` is null where nothing of it is to be remembered. */
  readonly whole: (names: RequestNames | null) => void;
  /** Runs what takes a while, now or in a later turn of the event loop. */
  readonly inTurn: (work: () => void) => void;
  /** Its body has not come yet. Until it has, nothing else is called. */
  readonly waits: () => void;
  /** It was answered, and its sender has not taken all of that yet. */
  readonly onUnread: () => void;
  /** Whether connections end with their next answer. */
  readonly closing: () => boolean;
}

/** An operation of the plain kind, and whose it is. */
interface Executable {
  readonly caller: Viewer;
  readonly names: RequestNames;
  readonly asked: AskedOperation;
}

/** What a host looks like; of any other it is found out on the whole way what is wrong with it. */
const HOST = /^[\w.:[\]-]+$/;

/** Answers an operation in front of everything else, or hands it on with the name that it goes by. */
export interface ShortWay {
  /** Whether a request is of the plain kind: a small operation, with nothing unusual about it. */
  takes(request: IncomingMessage): boolean;
  /** Answers, or hands on. */
  answer(request: IncomingMessage, response: ServerResponse, otherwise: Otherwise): void;
}

/** Makes the short way over what is remembered. */
export function createShortWay(options: {
  readonly answers: RememberedAnswers;
  readonly operations: OperationsAtHand;
  readonly callers: Callers;
  readonly clock: Clock;
  /** Told of every operation that was executed. */
  readonly observer: Observer;
  /** Told of every answer that was given again; `null` where that is not logged. */
  readonly log: Observer | null;
  /** `null` where nothing is counted. */
  readonly tally: AnswerTally | null;
  /** Headers of every answer besides those of security, such as `Vary`. */
  readonly headers: readonly string[];
}): ShortWay {
  const { answers, callers, clock, log, observer, operations, tally } = options;
  const common = [...securityHeaders.flat(), ...options.headers];
  const ofPost = [...common, 'Cache-Control', 'no-store'];
  const ofGet = [...common, 'Cache-Control', 'private, no-cache', 'Vary', 'Accept, Authorization'];

  const send = (
    request: IncomingMessage,
    response: ServerResponse,
    { caller, answer }: { readonly caller: Viewer; readonly answer: RememberedAnswer },
  ): void => {
    const startedAt = clock.now();
    const requestId = requestIdOf(request.headers['x-request-id']);
    const ageMs = startedAt - answer.oldestAt;
    const { contentType, etag } = answer;
    const headers = ['X-Request-Id', requestId];
    if (etag !== null) headers.push('Age', String(Math.floor(ageMs / 1000)), 'ETag', etag);
    const constant = etag === null ? ofPost : ofGet;
    const known = etag !== null && holdsETag(request.headers['if-none-match'] ?? null, etag);
    if (known) {
      response.writeHead(304, [...constant, ...headers]).end();
    } else {
      const body = answer.head + Math.round(ageMs) + answer.tail;
      headers.push('Content-Type', contentType, 'Content-Length', String(body.length));
      response.writeHead(200, [...constant, ...headers]).end(body, 'latin1');
    }
    tally?.count(answer);
    log?.operation?.({
      name: answer.name,
      type: 'query',
      caller: caller.name,
      requestId,
      status: known ? 304 : 200,
      codes: [],
      outcome: 'ok',
      durationMs: clock.now() - startedAt,
      calls: 0,
      waitedMs: 0,
      stale: 0,
    });
  };

  /** Answers an operation whose answer is not remembered, if it can be made at once. */
  const execute = (
    request: IncomingMessage,
    response: ServerResponse,
    { caller, names, asked }: Executable,
  ): boolean => {
    const startedAt = clock.now();
    const made = operations.answer(asked.key, asked.variables, caller);
    if (!made) return false;
    const { contentType, data, name, receipt } = made;
    const { summary } = receipt;
    const body = JSON.stringify({ data, extensions: { upstream: summary } });
    const requestId = requestIdOf(request.headers['x-request-id']);
    const length = String(Buffer.byteLength(body));
    const headers = ['X-Request-Id', requestId, 'Content-Type', contentType];
    response.writeHead(200, [...ofPost, ...headers, 'Content-Length', length]).end(body);
    answers.note(names.answer, () => {
      const text = cutAtAge(body, receipt);
      return text && { ...text, contentType, etag: null, name, ...receipt.served(clock.now()) };
    });
    observer.operation?.({
      name,
      type: 'query',
      caller: caller.name,
      requestId,
      status: 200,
      codes: [],
      outcome: 'ok',
      durationMs: clock.now() - startedAt,
      calls: 0,
      waitedMs: 0,
      stale: summary.stale,
      atHand: true,
    });
    return true;
  };

  return {
    takes(request) {
      const { headers, method, url = '' } = request;
      if (method === 'GET') {
        // A browser that opens the page gets GraphiQL.
        if (!url.startsWith('/graphql?') || headers.accept?.includes('text/html')) return false;
        if (headers['content-length'] !== undefined) return false;
      } else {
        if (method !== 'POST' || url !== '/graphql') return false;
        const length = Number(headers['content-length']);
        if (!(length > 0 && length <= MAX_BODY_BYTES)) return false;
        if (!headers['content-type']?.startsWith('application/json')) return false;
      }
      return (
        HOST.test(headers.host ?? '') &&
        UNUSUAL.every((name) => headers[name] === undefined) &&
        repeatedHeader(request) === null
      );
    },
    answer(request, response, { closing, inTurn, onUnread, waits, whole }) {
      const caller = identified(callers, request);
      // Whoever cannot be known at once goes the whole way, and hears there why.
      if (!caller) return whole(null);
      const ended = (): void => {
        if ((response.socket?.writableLength ?? 0) > 0) onUnread();
      };
      const answered = (key: string): boolean => {
        const answer = answers.find(key);
        if (!answer || closing()) return false;
        send(request, response, { caller, answer });
        ended();
        return true;
      };
      if (request.method === 'GET') {
        const answer = answerKeyOf(caller, request, request.url ?? '');
        if (!answered(answer)) whole({ answer, operation: null });
        return undefined;
      }
      const length = Number(request.headers['content-length']);
      let settled = false;
      const settle = (body: Buffer | null): void => {
        settled = true;
        request.removeListener('readable', look);
        if (!body) return whole(null);
        const answer = answerKeyOf(caller, request, body.toString('latin1'));
        if (answered(answer)) return void request.resume();
        const asked = askedOperation(request, body);
        const names = { answer, operation: asked?.key ?? null };
        if (!asked || !operations.knows(asked.key)) return whole(names);
        return inTurn(() => {
          if (closing() || !execute(request, response, { caller, names, asked })) whole(names);
          else {
            request.resume();
            ended();
          }
        });
      };
      const look = (): void => {
        const body = request.read(length) as Buffer | null;
        if (body === null) {
          // Less than was announced, or not all of it yet.
          if (request.complete) settle(null);
          return;
        }
        request.unshift(body);
        settle(body.length === length ? body : null);
      };
      request.on('readable', look);
      // Most bodies come along with their head.
      setImmediate(() => {
        if (!settled) waits();
      });
      return undefined;
    },
  };
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
