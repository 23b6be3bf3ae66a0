import type { ExecutionResult } from 'graphql';
import { AnswerJson, cutAtAge } from '../../answers/answer-json.ts';
import type { RememberedAnswers } from '../../answers/remembered-answers.ts';
import type { Callers } from '../../http/door/caller.ts';
import { holdsETag, VARY_OF_GET } from '../../http/door/headers/etag.ts';
import { replayedHeader } from '../../http/door/headers/idempotency-key.ts';
import { setWantedType } from '../delivery.ts';
import type { GatewayPlugin, RequestRecord } from '../request-record.ts';
import { liveResponse } from './live-answer.ts';

/** The types of a response whose bytes are its JSON: others wrap it into parts or events. */
const BARE = /^application\/(graphql-response\+)?json\b/;

/** Maximum number of errors in the response to a batch. */
const MAX_ERRORS = 50;

/**
 * Creates the response of a result. The result is serialised once, by Yoga for the response, and its text is kept
 * for other uses. The response to a batch is a list, with one error for each operation, because clients that send
 * batches accept nothing else; its status is 400 for clients that accept `application/graphql-response+json`, and
 * 200 for the others, which read no other body.
 */
export function useAnswers({
  answers,
  callers,
}: {
  readonly answers: RememberedAnswers;
  readonly callers: Callers;
}): GatewayPlugin {
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
      // Yoga calls it with the visible part of the result.
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
      if (record.isReplayed) headers.set(replayedHeader, 'true');
      // Before a 304 leaves out the body, and its type with it.
      if (record.remembering) rememberAnswer(record, response, answers);
      setCaching(payload, record);
      if (record.batch === null) return;
      if (!headers.get('content-type')?.startsWith('application/graphql-response+json')) return;
      payload.setResponse(new Response(response.body, { status: 400, headers }));
    },
  };
}

/**
 * Lets browsers store the response to a GET privately and revalidate it (`ETag`) before they reuse it, with the
 * age of its oldest data (`Age`, in seconds). The browser receives 304 for an unchanged response. The tag depends
 * on data and errors, and not on the cost of the operation: it is weak, and so the same in every coding. All other
 * responses are `no-store`, and those with secrets `no-transform` as well: neither the gateway nor a proxy may
 * compress them.
 * Implements: RFC 9111 sections 5.1 and 5.2.2.6, RFC 9110 sections 8.8.1 and 8.8.3.
 */
function setCaching(
  payload: Parameters<NonNullable<GatewayPlugin['onResponse']>>[0],
  { ageSeconds, holdsSecrets, json }: RequestRecord,
): void {
  const { fetchAPI, request, response } = payload;
  const { headers } = response;
  if (ageSeconds === null) {
    if (request.method === 'OPTIONS') return;
    // The length of a compressed body reveals secrets to a caller who controls some text in the same body.
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
 * Remembers the response to a query without errors if it can be repeated, because it was created from fresh cache
 * entries only.
 */
function rememberAnswer(
  { ageSeconds, json, observation, remembering }: RequestRecord,
  { headers, status }: Response,
  answers: RememberedAnswers,
): void {
  if (!json || !remembering?.result) return;
  const { key, receipt, result, version } = remembering;
  const contentType = headers.get('content-type') ?? '';
  if (status !== 200 || !BARE.test(contentType) || !isWhole(result)) return;
  answers.note(key, version, () => {
    const text = cutAtAge(json.text, receipt);
    if (!text) return null;
    const etag = ageSeconds === null ? null : json.etag;
    const name = observation?.name ?? null;
    return { ...text, contentType, etag, name, ingredients: receipt.ingredients };
  });
}

/** Whether a response has data, a receipt, and nothing else. */
function isWhole({ extensions, ...rest }: ExecutionResult): boolean {
  return Object.keys(rest).join() === 'data' && Object.keys(extensions ?? {}).join() === 'upstream';
}
