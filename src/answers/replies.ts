import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../auth/viewer.ts';
import type { Clock } from '../clock.ts';
import { holdsETag } from '../http/door/etag.ts';
import { requestIdOf } from '../http/door/request-id.ts';
import { securityHeaders } from '../http/door/security-headers.ts';
import type { Observer } from '../observe/observer.ts';
import { AnswerJson, written } from './answer-json.ts';
import type { AnswerTally } from './answer-tally.ts';
import { cutAtAge } from './answer-text.ts';
import type { CompiledQueries } from './compiled-queries.ts';
import type { RememberedAnswer, RememberedAnswers } from './remembered-answers.ts';
import type { AskedOperation, RequestNames } from './request-names.ts';

/** Who is answered, and where. */
export interface Recipient {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Viewer;
  /** What the door adds to the answer, as of CORS: names and values by turns. */
  readonly headers: readonly string[];
}

interface RepliesOptions {
  readonly answers: RememberedAnswers;
  readonly operations: CompiledQueries;
  readonly clock: Clock;
  /** Told of every operation; `null` where that is not logged. */
  readonly log: Observer | null;
  /** `null` where nothing is counted. */
  readonly tally: AnswerTally | null;
}

/** A body to send, with what its headers say of it. */
interface Reply {
  readonly body: string;
  readonly encoding: 'latin1' | 'utf8';
  /** In bytes. */
  readonly length: number;
  readonly contentType: string;
  /** Of an answer to a GET. */
  readonly etag: string | null;
  readonly ageMs: number;
}

/** The answers that are given in front of everything else: all that they are besides their data. */
export class Replies {
  readonly #options: RepliesOptions;
  readonly #ofPost: readonly string[];
  readonly #ofGet: readonly string[];

  constructor(options: RepliesOptions) {
    this.#options = options;
    const common = securityHeaders.flat();
    this.#ofPost = [...common, 'Cache-Control', 'no-store'];
    const caching = ['Cache-Control', 'private, no-cache', 'Vary', 'Accept, Authorization'];
    this.#ofGet = [...common, ...caching];
  }

  /** Gives an answer again. */
  give(recipient: Recipient, answer: RememberedAnswer, startedAt: number): void {
    const { clock, log, tally } = this.#options;
    const { contentType, etag, head, name, oldestAt, tail } = answer;
    const ageMs = startedAt - oldestAt;
    const body = head + Math.round(ageMs) + tail;
    const { length } = body;
    const requestId = requestIdOf(recipient.request.headers['x-request-id']);
    const reply: Reply = { body, encoding: 'latin1', length, contentType, etag, ageMs };
    const status = this.#send(recipient, requestId, reply);
    tally?.count(answer);
    const durationMs = clock.now() - startedAt;
    log?.operation?.({ ...ok, name, caller: recipient.caller.name, requestId, status, durationMs });
  }

  /** Answers an operation whose answer is not remembered, if it can be made at once; tells whether. */
  execute(recipient: Recipient, names: RequestNames, asked: AskedOperation): boolean {
    const { answers, clock, log, operations, tally } = this.#options;
    const { caller, request } = recipient;
    const startedAt = clock.now();
    const made = operations.answer(asked.key, asked.variables, caller);
    if (!made) return false;
    const { contentType, data, name, receipt } = made;
    const { summary } = receipt;
    const json = new AnswerJson({ data: written(data), extensions: { upstream: summary } });
    const { text: body } = json;
    const requestId = requestIdOf(request.headers['x-request-id']);
    const length = Buffer.byteLength(body);
    const etag = request.method === 'GET' ? json.etag : null;
    const reply = { body, length, contentType, etag, ageMs: summary.maxAgeMs };
    const status = this.#send(recipient, requestId, { ...reply, encoding: 'utf8' });
    answers.note(names.answer, () => {
      const text = cutAtAge(body, receipt);
      return text && { ...text, contentType, etag, name, ...receipt.served(clock.now()) };
    });
    const durationMs = clock.now() - startedAt;
    const { saved, stale } = summary;
    tally?.countExecuted(name, saved.cache);
    log?.operation?.({ ...ok, name, caller: caller.name, requestId, status, durationMs, stale });
    return true;
  }

  /** Sends an answer, or that it has not changed; the status. */
  #send(
    { headers: added, request, response }: Recipient,
    requestId: string,
    reply: Reply,
  ): 200 | 304 {
    const { ageMs, body, contentType, encoding, etag, length } = reply;
    // One array: each header that is set on its own costs more than all of these.
    const headers = [
      ...added,
      ...(etag === null ? this.#ofPost : this.#ofGet),
      'X-Request-Id',
      requestId,
    ];
    if (etag !== null) {
      headers.push('Age', String(Math.floor(ageMs / 1000)), 'ETag', etag);
      if (holdsETag(request.headers['if-none-match'] ?? null, etag)) {
        response.writeHead(304, headers).end();
        return 304;
      }
    }
    headers.push('Content-Type', contentType, 'Content-Length', String(length));
    response.writeHead(200, headers).end(body, encoding);
    return 200;
  }
}

/** What is told of every operation that is answered here. */
const ok = {
  type: 'query',
  codes: [],
  outcome: 'ok',
  calls: 0,
  saved: 0,
  waitedMs: 0,
  stale: 0,
} as const;
