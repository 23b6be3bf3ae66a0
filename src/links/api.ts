import { asMap } from '../upstream/decode/fields.ts';
import type { Api, JudgeContext, RawAnswer, Verdict } from '../upstream/request.ts';
import {
  failureVerdict,
  limitVerdict,
  parseBody,
  plainText,
  unusableVerdict,
} from '../upstream/wire/verdict.ts';

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

function judge(answer: RawAnswer, context: JudgeContext): Verdict {
  const isWrite = context.method !== 'GET';
  // There can be no body: the status alone says that it has happened.
  if (isWrite && answer.status === 204) return { kind: 'success', body: {} };
  const body = parseBody(answer);
  const members = body.kind === 'json' ? body.members : {};
  const outcome = readError(members);
  const isFailure = outcome !== 'success' && outcome !== 'untold';
  const reason = isFailure ? plainText(readMessage(members)) : null;
  // An explicit outcome outranks the status, both ways: 500 with the data and `error` 0 is a success.
  if (outcome === 'success' && answer.status !== 429) return { kind: 'success', body: members };
  const limit = limitVerdict(answer, members, { reason, wallMs: context.wallMs });
  if (limit) return limit;
  if (body.kind === 'unusable') return body.verdict;
  if (isFailure) {
    // Some installations put an HTTP status into `error` and respond with 200.
    return failureVerdict(outcome ?? answer.status, readMessage(members));
  }
  if (answer.status >= 200 && answer.status < 300) {
    if (!isWrite) return { kind: 'success', body: members };
    return { kind: 'unconfirmed', detail: `HTTP ${answer.status} with JSON without an \`error\`` };
  }
  if (answer.status === 401) return { kind: 'unauthenticated' };
  if (answer.status === 403) return { kind: 'forbidden' };
  return unusableVerdict(answer.status, 'JSON without an `error` member');
}

/**
 * The `error` member: success, a failure (with its HTTP status, or `null`), or missing. In list responses it may
 * be inside `data` instead, there mostly as the string "0". Without it, `success` can say that it failed.
 */
function readError(
  members: Readonly<Record<string, unknown>>,
): 'success' | 'untold' | number | null {
  const error = members['error'] ?? asMap(members['data'])?.['error'] ?? '';
  const text = wordOf(error);
  if (['', '[]', '{}'].includes(text)) return isNone(members['success']) ? null : 'untold';
  if (isNone(error)) return 'success';
  const status = Number(text);
  return status >= 400 && status < 600 ? status : null;
}

/** Whether a value is 0 or false, also as text. */
function isNone(value: unknown): boolean {
  const text = wordOf(value);
  return text === 'false' || (text !== '' && Number(text) === 0);
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value.trim().toLowerCase() : (JSON.stringify(value) ?? '');
}

function readMessage(members: Readonly<Record<string, unknown>>): unknown {
  const { message, msg, error } = members;
  for (const text of [message, msg]) if (text !== undefined && plainText(text) !== '') return text;
  // `error` itself can be the message, or an object that contains it.
  return typeof error === 'object' || Number.isNaN(Number(error)) ? error : undefined;
}
