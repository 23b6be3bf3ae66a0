import { asMap, decodeText, parseInteger } from '../decode/fields.ts';
import type { RawAnswer, Verdict } from '../request.ts';
import { readRateLimit, readRetryAfter } from './rate-limit-headers.ts';

/** Maximum length of a message: some installations send a stack trace. */
const maxReasonLength = 300;

/** Replaces a key in a message. */
export const HIDDEN = '[hidden]';

const noReason = 'The API gave no reason.';

/** Statuses of a server in front of the API that are about the request itself: a rejection, with its reason. */
const refusedUnseen: Readonly<Record<number, string>> = {
  413: 'The request is too large.',
  414: 'The URL of the request is too long.',
  415: 'The content type is not supported.',
  431: 'The request headers are too large.',
};

const REDIRECTED = 'it is redirected to another address';

/** Statuses of a server in front of the API that are about the host, with their likely cause. */
const unserved: Readonly<Record<number, string>> = {
  301: REDIRECTED,
  307: REDIRECTED,
  308: REDIRECTED,
  400: 'the web server takes it for malformed',
  404: 'the web server has nothing at its address',
  405: 'the host blocks its method',
  411: 'the host requires a content length',
  421: 'the host does not serve the name in the base URL',
  501: 'the host does not support its method',
};

/** The classification of responses common to both APIs: the parsed body, and the words of a refusal. */
export type ParsedBody =
  | { readonly kind: 'json'; readonly members: Readonly<Record<string, unknown>> }
  | { readonly kind: 'unusable'; readonly verdict: Verdict };

/** Longest text before the JSON. */
const MOST_NOTICES = 64 * 1024;
/** Elements that notices of PHP do not have: JSON in such a page is not the response. */
const pageElements = /<(?:!doctype|html|head|body|title|script|style|pre|code|textarea)\b/i;

/**
 * The JSON object in a response that has other text around it: notices of PHP or a byte order mark before it, HTML comments
 * after it. It begins a line and is the rest of the response. `null` if there is no other text, or no such object. Takes
 * time proportional to the length, whatever the text.
 */
export function bareJson(response: string): string | null {
  const whole = response.trim();
  let text = whole;
  while (text.endsWith('-->')) {
    const comment = text.lastIndexOf('<!--');
    if (comment < 0) return null;
    text = text.slice(0, comment).trimEnd();
  }
  const isBare = text.length === whole.length && !response.startsWith('\uFEFF');
  if (!text.endsWith('}') || (isBare && text.startsWith('{'))) return null;
  const start = text.slice(0, MOST_NOTICES);
  // The first in the text that looks like an object, or none: one attempt.
  const at = start.search(/\{\s*["}]/);
  const before = start.slice(0, Math.max(0, at));
  if (at < 0 || !/(?:^|[\n>\uFEFF])[ \t]*$/.test(before) || pageElements.test(before)) return null;
  const json = text.slice(at);
  try {
    JSON.parse(json);
    return json;
  } catch {
    return null;
  }
}

/**
 * Parses the body as a JSON object, or classifies the response by its status if it is none. The detail of such a
 * verdict describes the body without repeating any of it.
 */
export function parseBody(answer: RawAnswer): ParsedBody {
  const text = answer.text.trim();
  if (text === '') {
    if (answer.status === 401) return { kind: 'unusable', verdict: { kind: 'unauthenticated' } };
    if (answer.status === 403) return { kind: 'unusable', verdict: { kind: 'forbidden' } };
    return unusable(answer.status, 'an empty body');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // It can be the begin of a response of the API.
    if (/^[[{]/.test(text)) {
      return { kind: 'unusable', verdict: faulty(answer.status, 'broken JSON') };
    }
    return unusable(answer.status, text.startsWith('<') ? 'HTML' : 'a body that is not JSON');
  }
  const members = Array.isArray(value) ? undefined : asMap(value);
  return members
    ? { kind: 'json', members }
    : unusable(answer.status, 'JSON that is not an object');
}

/** A message about the limit of requests, and not about one of another number. */
const limitWords =
  /\brate.?limit|\btoo many (?:request|attempt|call)s?\b|\bthrottl|\b(?:api|request|call)s?\b.{0,40}\b(?:limit|quota|maximum)|\b(?:limit|quota|maximum)\b.{0,40}\b(?:request|call|minute)s?\b/i;

/**
 * A refusal by the rate limit that is told by the status, by a member with that status, by a 403 with a time to retry, or
 * in words; `null` if it is none. `reason` is the message of a failure: without it, words do not count. Words need a header
 * or a time beside them, for a rejection can speak of any limit; both together need no words.
 */
export function limitVerdict(
  answer: RawAnswer,
  members: Readonly<Record<string, unknown>>,
  { reason, wallMs }: { readonly reason: string | null; readonly wallMs: number },
): Verdict | null {
  const { headers, status } = answer;
  const retryAfterMs = readRetryAfter(headers, members, { wallMs });
  const saysWhen = retryAfterMs !== null;
  const isSpent = readRateLimit(headers, { wallMs, timeZone: 'UTC' })?.remaining === 0;
  const isTold =
    saysWhen && isSpent ? reason !== null : (saysWhen || isSpent) && limitWords.test(reason ?? '');
  const isLimited = status === 429 || tells429(members) || (status === 403 && saysWhen) || isTold;
  return isLimited ? { kind: 'limited', retryAfterMs } : null;
}

/** Whether a member names the status of a refusal by the rate limit. */
function tells429(members: Readonly<Record<string, unknown>>): boolean {
  const holders = [members, asMap(members['data']) ?? {}, asMap(members['error']) ?? {}];
  const names = ['error', 'code', 'status', 'statusCode', 'status_code'];
  return holders.some((holder) => names.some((name) => parseInteger(holder[name]) === 429));
}

/**
 * A response that is not the API's, or is inconclusive. A status that can only be about the request or the host means
 * that the API did not get the request.
 */
export function unusableVerdict(status: number, what: string): Verdict {
  const reason = refusedUnseen[status];
  if (reason !== undefined) return { kind: 'rejected', reason };
  const why = unserved[status];
  return why === undefined ? faulty(status, what) : { kind: 'unserved', status, why };
}

/** An inconclusive response: a server error from 500 on, otherwise not what the API sends. */
function faulty(status: number, what: string): Verdict {
  return {
    kind: status >= 500 ? 'unavailable' : 'invalid',
    detail: `HTTP ${status} with ${what}`,
  };
}

/**
 * The English words of failures, which can have status 200: the key lacks the permission, it is not valid, or there is no
 * such object. Any other message is that of a rejection.
 */
const noPermission =
  /\bpermissions?\b|\bprivileges?\b|\bforbidden\b|\bscopes?\b|\bnot authori[sz]ed\b|\baccess denied\b|\badmin\w*[\s-]only\b|\bmust be an admin/i;
const badKey =
  /^unauthori[sz]ed\b|\bunauthenticated\b|\bapi[\s_-]?key\b|\b(?:invalid|expired) token\b/i;
const nothingThere = /\bnot found\b|\b(?:does not|doesn['’]t) exist\b|\bno such\b/i;

/**
 * What a JSON failure means. The statuses 404 and 401 are certain; the message decides next, because the status of a
 * failure is not documented and is often 200; what remains is a refusal with its reason.
 */
export function failureVerdict(status: number, message: unknown): Verdict {
  const reason = plainText(message) || noReason;
  if (status === 404) return { kind: 'absent', reason };
  if (status === 401) return { kind: 'unauthenticated' };
  if (noPermission.test(reason)) return { kind: 'forbidden' };
  if (badKey.test(reason)) return { kind: 'unauthenticated' };
  if (status === 403) return { kind: 'forbidden' };
  if (nothingThere.test(reason)) return { kind: 'absent', reason };
  if (status >= 500) return { kind: 'unavailable', detail: `HTTP ${status} with a JSON error` };
  return { kind: 'rejected', reason };
}

/**
 * An upstream's message as plain text on one line: tags stripped, then entities decoded once, and
 * at most 300 characters. A message that is a list or an object gives all the texts in it.
 */
export function plainText(message: unknown): string {
  const texts: string[] = [];
  collectTexts(message, texts, 0);
  const text = decodeText(
    texts
      .join('; ')
      .replace(/<(script|style)\b[\s\S]*?<\/\1\s*>/gi, ' ')
      .replace(/<(?:br|p|li|div|ul|ol|tr|td|h\d)\b[^<>]*>/gi, ' ')
      .replace(/<\/?[a-z][^<>]*>|<!--[\s\S]*?-->/gi, ''),
  )
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  if (text.length <= maxReasonLength) return text;
  // A cut within an emoji would leave half of a character.
  return `${text.slice(0, maxReasonLength - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** URLs, IP addresses with or without a port, and paths of files: what a message can reveal of an installation. */
const addresses =
  /[a-z][a-z\d+.-]*:\/\/\S*[\w/]|\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?|(?<![\w/])(?:\/[\w.@~-]+){2}(?:\S*\w)?|\b[a-z]:\\\S*\w/gi;
/** A word of letters and digits that is as long as a key or a token. */
const secrets = /\b(?=\w*\d)(?=\w*[a-z])\w{16,}\b/gi;

/** A message for callers: without addresses, that of the upstream among them, and without what may be a key. */
export function presentable(message: string, baseUrl: string): string {
  const { host } = new URL(baseUrl);
  // A host without a dot can be an ordinary word.
  const names = (word: string): boolean => host.includes('.') && word.toLowerCase().includes(host);
  return message
    .replaceAll('\\/', '/')
    .split(' ')
    .map((word) => word.replace(names(word) ? /\S*\w/ : addresses, '[address]'))
    .join(' ')
    .replace(secrets, HIDDEN);
}

function collectTexts(message: unknown, texts: string[], depth: number): void {
  if (texts.length >= 10 || depth > 3) return;
  if (typeof message === 'string') texts.push(message.slice(0, 10 * maxReasonLength));
  else if (typeof message === 'number') texts.push(String(message));
  else if (typeof message === 'object' && message !== null) {
    for (const value of Object.values(message)) collectTexts(value, texts, depth + 1);
  }
}

function unusable(status: number, what: string): ParsedBody {
  return { kind: 'unusable', verdict: unusableVerdict(status, what) };
}
