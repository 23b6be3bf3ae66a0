import type { ExecutionResult } from 'graphql';
import { AnswerJson, cutAtAge } from '../../answers/answer-json.ts';
import type { CompiledQueries } from '../../answers/compiled/compiled-queries.ts';
import type { RememberedAnswers } from '../../answers/remembered-answers.ts';
import { operationName } from '../../answers/request-names.ts';
import type { Callers } from '../../http/door/caller.ts';
import { holdsETag, VARY_OF_GET } from '../../http/door/headers/etag.ts';
import { setWantedType } from '../delivery.ts';
import type { GatewayPlugin, RequestRecord } from '../request-record.ts';
import { liveResponse } from './live-answer.ts';

type ResponsePayload = Parameters<NonNullable<GatewayPlugin['onResponse']>>[0];

/** Where answers are remembered. */
interface RememberingOptions {
  readonly answers: RememberedAnswers;
  readonly operations: CompiledQueries;
}

/** The types of an answer whose bytes are those of its JSON: others wrap it into parts or events. */
const BARE = /^application\/(graphql-response\+)?json\b/;

/** Errors in the answer to a list of operations, however long the list was. */
const MAX_ERRORS = 50;

/**
 * Makes the response of a result. The result is serialised once, by Yoga for the response, and its text is kept for
 * those that need it too. The answer to a list of operations is a list, with one error for each operation, since
 * clients that send batches read nothing else; its status is that of a request that makes no sense, 400, for clients
 * that accept `application/graphql-response+json`, and 200 for the others, as they read no other body.
 */
export function useAnswers({
  callers,
  ...remembering
}: RememberingOptions & { readonly callers: Callers }): GatewayPlugin {
  return {
    onResultProcess(payload) {
      const { result, serverContext } = payload;
      const { record } = serverContext;
      const { accept, batch, live } = record;
      if (live) {
        payload.setResultProcessor((_, api) => liveResponse(live, api), 'text/event-stream');
        return;
      }
      if (accept !== null) setWantedType(payload, accept);
      if (Array.isArray(result) || Symbol.asyncIterator in result) return;
      if (batch !== null) {
        const length = Math.min(Math.max(batch, 1), MAX_ERRORS);
        payload.setResult(Array.from({ length }, () => result));
        return;
      }
      if (record.remembering) record.remembering.result = result;
      // Yoga calls it with what it shows of the result.
      const stringify = (shown: object): string => {
        record.json = new AnswerJson(shown);
        return record.json.text;
      };
      const serialisable = { ...result, stringify };
      payload.setResult(serialisable);
    },
    onResponse(payload) {
      const { request, response, serverContext } = payload;
      const { headers } = response;
      const { record } = serverContext;
      const prefer = request.headers.get('prefer');
      // A request that was not admitted has not waited.
      const applied = record.viewer && prefer !== null ? callers.preferenceApplied(prefer) : null;
      if (applied !== null) headers.set('Preference-Applied', applied);
      // Before a 304 leaves out the body, and its type with it.
      if (record.remembering) rememberAnswer(record, response, remembering);
      setCaching(payload, record);
      if (record.batch === null) return;
      if (!headers.get('content-type')?.startsWith('application/graphql-response+json')) return;
      payload.setResponse(new Response(response.body, { status: 400, headers }));
    },
  };
}

/**
 * Lets browsers cache the answer to a GET privately and revalidate it (`ETag`) before they reuse it, and
 * states how old the oldest thing in it is (`Age`, in seconds). An answer that the browser already has
 * is a 304. The tag depends on data and errors, and not on what the operation cost: it is weak, and so
 * the same in every coding. Every other answer is `no-store`, and each that holds secrets `no-transform`
 * as well: neither the gateway nor a proxy may compress it.
 * Implements: RFC 9111 sections 5.1 and 5.2.2.6, RFC 9110 sections 8.8.1 and 8.8.3.
 */
function setCaching(
  payload: ResponsePayload,
  { ageSeconds, holdsSecrets, json }: RequestRecord,
): void {
  const { fetchAPI, request, response } = payload;
  const { headers } = response;
  if (ageSeconds === null) {
    if (request.method === 'OPTIONS') return;
    // The length of a compressed body reveals secrets to a caller who controls some of the text beside them.
    headers.set('Cache-Control', holdsSecrets ? 'no-store, no-transform' : 'no-store');
    return;
  }
  headers.set('Cache-Control', 'private, no-cache');
  headers.set('Age', String(ageSeconds));
  headers.append('Vary', VARY_OF_GET);
  if (response.status !== 200 || !json) return;
  headers.set('ETag', json.etag);
  if (holdsETag(request.headers.get('if-none-match'), json.etag)) {
    headers.delete('Content-Type');
    headers.delete('Content-Length');
    payload.setResponse(new fetchAPI.Response(null, { status: 304, headers }));
  }
}

/**
 * Remembers what came the whole way for the fast path: queries that were answered without an error, and their
 * answers where they can be given again as they are, because they were made from fresh cache entries alone.
 * See `CompiledQueries` and `RememberedAnswers`.
 */
function rememberAnswer(
  { ageSeconds, json, names, remembering }: RequestRecord,
  { headers, status }: Response,
  { answers, operations }: RememberingOptions,
): void {
  if (!json || !names || !remembering?.result) return;
  const { receipt, result, version, ...query } = remembering;
  const contentType = headers.get('content-type') ?? '';
  if (status !== 200 || !BARE.test(contentType) || !isWhole(result)) return;
  if (names.operation !== null) operations.note(names, contentType, query);
  answers.note(names.answer, () => {
    const isOfOneState = version === answers.version;
    const text = isOfOneState ? cutAtAge(json.text, receipt) : null;
    if (!text) return null;
    const name = operationName(query.operation);
    const etag = ageSeconds === null ? null : json.etag;
    const { ingredients } = receipt;
    return { ...text, contentType, etag, name, ingredients };
  });
}

/** Whether an answer has data, a receipt, and nothing else. */
function isWhole({ extensions, ...rest }: ExecutionResult): boolean {
  return Object.keys(rest).join() === 'data' && Object.keys(extensions ?? {}).join() === 'upstream';
}
