import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../auth/viewer.ts';
import { requestIdOf, securityHeaders } from '../http/door/every-request.ts';
import { holdsETag, VARY_OF_GET } from '../http/door/headers/etag.ts';
import type { Coding, Codings } from '../http/encoding/codings.ts';
import { MIN_BYTES } from '../http/encoding/compress.ts';
import { shownClass } from '../observe/callers.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { OperationRecord } from '../observe/events.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { AnswerTally } from './answer-tally.ts';
import type { RememberedAnswer, RememberedAnswers } from './remembered-answers.ts';

/** The recipient of a response. */
export interface Recipient {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Viewer;
  /** Additional headers, such as CORS: names and values alternate. */
  readonly headers: readonly string[];
}

interface RepliesOptions {
  readonly answers: RememberedAnswers;
  readonly codings: Codings;
  readonly clock: Clock;
  readonly events: EventStream;
  /** `null` if nothing is counted. */
  readonly tally: AnswerTally | null;
}

/** A body to send, with the values of its headers. */
interface Reply {
  /** In bytes, each as one character. */
  readonly body: string;
  readonly coding: Coding | null;
  readonly contentType: string;
  /** For the response to a GET. */
  readonly etag: string | null;
  readonly ageMs: number;
}

/** Sends the responses of the fast path: all of them except their data. */
export class Replies {
  readonly #options: RepliesOptions;
  readonly #ofPost: readonly string[];
  readonly #ofGet: readonly string[];
  /** Whether each operation is logged or traced. */
  readonly #isRead: boolean;

  constructor(options: RepliesOptions) {
    this.#options = options;
    this.#isRead = options.events.isRead('answered');
    const vary = ['Vary', 'Accept-Encoding'];
    const common = securityHeaders.flat();
    this.#ofPost = [...common, 'Cache-Control', 'no-store', ...vary];
    const caching = ['Cache-Control', 'private, no-cache', 'Vary', VARY_OF_GET];
    this.#ofGet = [...common, ...caching, ...vary];
  }

  /** Repeats a response. */
  give(recipient: Recipient, answer: RememberedAnswer, startedAt: number): void {
    const { answers, tally } = this.#options;
    const { contentType, etag, head, name, oldestAt, tail } = answer;
    const ageMs = oldestAt === null ? 0 : startedAt - oldestAt;
    const age = String(Math.round(ageMs));
    const coding = this.#codingFor(recipient, head.length + age.length + tail.length);
    const body = coding ? answers.encoded(answer, coding, age) : head + age + tail;
    const requestId = requestIdOf(recipient.request.headers['x-request-id']);
    const status = this.#send(recipient, requestId, { body, coding, contentType, etag, ageMs });
    tally?.count(answer, recipient.caller, ageMs);
    this.#observe(recipient, { requestId, name, status, maxAgeMs: ageMs, startedAt });
  }

  #observe(
    { caller, request }: Recipient,
    answer: Pick<OperationRecord, 'requestId' | 'name' | 'status' | 'maxAgeMs'> & {
      readonly startedAt: number;
    },
  ): void {
    if (!this.#isRead) return;
    const { clock, events } = this.#options;
    const { maxAgeMs, name, requestId, startedAt, status } = answer;
    // Written member by member: a spread takes V8 ten times as long.
    const record: OperationRecord = {
      requestId,
      name,
      type: 'query',
      caller: caller.name,
      callerClass: shownClass(caller.callerClass),
      status,
      codes: [],
      outcome: 'ok',
      durationMs: clock.now() - startedAt,
      calls: 0,
      saved: 0,
      waitedMs: 0,
      stale: 0,
      maxAgeMs,
    };
    events.emit('answered', { record, request });
  }

  /**
   * The coding for a body of that length; `null` if it is sent uncompressed. No response here contains secrets.
   */
  #codingFor({ request }: Recipient, bytes: number): Coding | null {
    if (request.headers['accept-encoding'] === undefined) return null;
    const { refusesIdentity, whole } = this.#options.codings.for(request);
    return bytes > MIN_BYTES || refusesIdentity ? whole : null;
  }

  /** Sends a response, or 304 if it is unchanged; returns the status. */
  #send(
    { headers: added, request, response }: Recipient,
    requestId: string,
    reply: Reply,
  ): 200 | 304 {
    const { ageMs, body, coding, contentType, etag } = reply;
    // One array, because one separately set header costs more than all of these.
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
    if (coding !== null) headers.push('Content-Encoding', coding);
    headers.push('Content-Type', contentType, 'Content-Length', String(body.length));
    response.writeHead(200, headers).end(body, 'latin1');
    return 200;
  }
}
