import type { Api, JudgeContext, RawAnswer, Verdict } from '../upstream/request.ts';
import {
  failureVerdict,
  limitVerdict,
  parseBody,
  plainText,
  unusableVerdict,
} from '../upstream/wire/verdict.ts';

/** Where the parameters of a POST go: undocumented, and installations differ. */
export type MarketPostEncoding = 'json' | 'form' | 'query';

/** Every successful response has its payload under one of these. */
const payloadMembers = ['data', 'items', 'item', 'purchase'];

/**
 * The protocol of the marketplace API. The key is one of the parameters, so the URL of a GET contains it and must
 * never be logged.
 * Implements: Marketplace API > Authentication; Marketplace API > Errors.
 */
export function createMarketApi(encoding: MarketPostEncoding): Api {
  return {
    upstream: 'MARKET',
    bodyEncoding: encoding === 'form' ? 'form' : 'json',
    authorize(request, credential) {
      if (request.body && encoding !== 'query') {
        request.body = { ...request.body, api_key: credential };
        return;
      }
      for (const [name, value] of Object.entries(request.body ?? {})) {
        request.query.set(name, String(value));
      }
      request.body = undefined;
      request.query.set('api_key', credential);
    },
    judge,
  };
}

/** `status` is never read: installations translate its text. */
function judge(answer: RawAnswer, context: JudgeContext): Verdict {
  const body = parseBody(answer);
  const members = body.kind === 'json' ? body.members : {};
  const message = members['msg'] ?? members['message'];
  const worked = answer.status >= 200 && answer.status < 300;
  const reason = plainText(message);
  const limit = limitVerdict(answer, members, { reason: reason || null, wallMs: context.wallMs });
  const payload = payloadMembers.filter((name) => name in members);
  if (worked && payload.length > 0) {
    // An empty list of items is valid; any other payload must contain more than a message.
    const filled = payload.some(
      (name) => !isHollow(members[name]) || (name === 'items' && Array.isArray(members[name])),
    );
    if (filled || (!limit && (message === undefined || message === null))) {
      return { kind: 'success', body: members };
    }
  }
  if (limit) return limit;
  if (body.kind === 'unusable') return body.verdict;
  // A seller without items gets a failure; it is an empty list, whatever its status.
  if (/^no items found\b/i.test(reason)) {
    return { kind: 'success', body: { items: [] } };
  }
  // Frameworks respond with 404 and a `message` for an unknown route: this API itself sends `msg`.
  if (answer.status === 404 && plainText(members['msg']) === '') {
    return unusableVerdict(404, 'JSON without a `msg` member');
  }
  if (/^invalid purchase code\b/i.test(reason)) return { kind: 'absent', reason };
  if (reason !== '' || answer.status === 401 || answer.status === 403) {
    return failureVerdict(answer.status, message);
  }
  return unusableVerdict(answer.status, 'JSON without a payload');
}

/** Whether a payload is empty, as in some error responses. */
function isHollow(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
