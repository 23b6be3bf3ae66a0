import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../auth/viewer.ts';
import type { Clock } from '../clock.ts';
import { holdsETag } from '../http/door/etag.ts';
import { requestIdOf } from '../http/door/request-id.ts';
import { securityHeaders } from '../http/door/security-headers.ts';
import type { OperationRecord } from '../observe/observer.ts';
import type { Telemetry } from '../observe/telemetry.ts';
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
  /** Logs and traces every operation; `null` where neither is wanted. */
  readonly answered: Telemetry['answered'];
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
    const { tally } = this.#options;
    const { contentType, etag, head, name, oldestAt, tail } = answer;
    const ageMs = startedAt - oldestAt;
    const body = head + Math.round(ageMs) + tail;
    const { length } = body;
    const requestId = requestIdOf(recipient.request.headers['x-request-id']);
    const reply: Reply = { body, encoding: 'latin1', length, contentType, etag, ageMs };
    const status = this.#send(recipient, requestId, reply);
    tally?.count(answer);
    this.#tell(recipient, { requestId, name, status, stale: 0, startedAt });
  }

  /** Answers an operation whose answer is not remembered, if it can be made at once; tells whether. */
  execute(recipient: Recipient, names: RequestNames, asked: AskedOperation): boolean {
    const { answers, clock, operations, tally } = this.#options;
    const { caller, request } = recipient;
    const startedAt = clock.now();
    const made = operations.answer(names, asked, caller);
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
    const { saved, stale } = summary;
    tally?.countExecuted(name, saved.cache);
    this.#tell(recipient, { requestId, name, status, stale, startedAt });
    return true;
  }

  #tell(
    { caller, request }: Recipient,
    answer: Pick<OperationRecord, 'requestId' | 'name' | 'status' | 'stale'> & {
      readonly startedAt: number;
    },
  ): void {
    const { answered, clock } = this.#options;
    if (!answered) return;
    const { name, requestId, stale, startedAt, status } = answer;
    // Member by member: spread from a constant it takes V8 ten times as long.
    const record: OperationRecord = {
      requestId,
      name,
      type: 'query',
      caller: caller.name,
      status,
      codes: [],
      outcome: 'ok',
      durationMs: clock.now() - startedAt,
      calls: 0,
      saved: 0,
      waitedMs: 0,
      stale,
    };
    answered(record, request);
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
