import { asMap } from '../upstream/decode/fields.ts';
import type { Api, RawAnswer, Verdict } from '../upstream/request.ts';
import { readRetryAfter } from '../upstream/wire/rate-limit-headers.ts';
import { failureVerdict, parseBody, plainText, unusableVerdict } from '../upstream/wire/verdict.ts';

/**
 * The protocol of the link-management API: the key is a bearer token, and only the `error` member of a response
 * says whether the request succeeded.
 * Implements: Link API > Authentication; Link API > Errors.
 */
export const linksApi: Api = {
  upstream: 'LINKS',
  authorize(request, credential) {
    request.headers['authorization'] = `Bearer ${credential}`;
  },
  judge,
};

function judge(answer: RawAnswer, context: { readonly wallMs: number }): Verdict {
  const body = parseBody(answer);
  const members = body.kind === 'json' ? body.members : {};
  const outcome = readError(members);
  if (answer.status === 429 || outcome === 429) {
    return {
      kind: 'limited',
      retryAfterMs: readRetryAfter(answer.headers, members, context),
    };
  }
  if (body.kind === 'unusable') return body.verdict;
  // An explicit outcome outranks the status, both ways: 500 with the data and `error` 0 is a success.
  if (outcome === 'success') return { kind: 'success', body: members };
  if (outcome !== 'untold') {
    // Some installations put an HTTP status into `error` and respond with 200.
    return failureVerdict(outcome ?? answer.status, readMessage(members));
  }
  if (answer.status >= 200 && answer.status < 300) return { kind: 'success', body: members };
  if (answer.status === 401) return { kind: 'unauthenticated' };
  if (answer.status === 403) return { kind: 'forbidden' };
  return unusableVerdict(answer.status, 'JSON without an `error` member');
}

/**
 * The `error` member: success, a failure (with its HTTP status, or `null`), or missing. In list responses it may
 * be inside `data` instead, there mostly as the string "0".
 */
function readError(
  members: Readonly<Record<string, unknown>>,
): 'success' | 'untold' | number | null {
  const error = members['error'] ?? asMap(members['data'])?.['error'];
  if (error === undefined || error === null) return 'untold';
  if (typeof error === 'object') return Object.keys(error).length === 0 ? 'untold' : null;
  if (typeof error === 'boolean') return error ? null : 'success';
  const text = typeof error === 'string' ? error.trim().toLowerCase() : error;
  if (text === '') return 'untold';
  const status = Number(text);
  if (text === 'false' || status === 0) return 'success';
  return status >= 400 && status < 600 ? status : null;
}

function readMessage(members: Readonly<Record<string, unknown>>): unknown {
  const { message, msg, error } = members;
  for (const text of [message, msg]) if (text !== undefined && plainText(text) !== '') return text;
  // `error` itself can be the message, or an object that contains it.
  return typeof error === 'object' || Number.isNaN(Number(error)) ? error : undefined;
}
