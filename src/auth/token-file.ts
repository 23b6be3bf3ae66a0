import { isObject, jsonIn } from '../storage/json.ts';
import { type CallerClasses, DEFAULT_CLASS, isClassName } from './caller-class.ts';
import { type Role, roles } from './viewer.ts';

/** A token that may be presented, as its file has it: who has the file can present none of them. */
export interface KnownToken {
  /** The name of the caller. */
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the token, in lower-case hex. */
  readonly sha256: string;
  /** Absent in the default class. */
  readonly class?: string;
  /** ISO 8601; absent for a token that does not run out. */
  readonly expires?: string;
}

/** Some seven thousand tokens: it is read within one turn of the event loop. */
export const MAX_TOKEN_FILE_BYTES = 1024 * 1024;

/**
 * Parses a token file: `{"tokens": [{"name", "role", "sha256", "class"?, "expires"?}, …]}`. `classes` are those that
 * a token may have; by default any.
 * @throws TypeError whose message says what is wrong and where; it contains no hash.
 */
export function parseTokenFile(text: string, classes?: CallerClasses): readonly KnownToken[] {
  const content = jsonIn(text);
  if (content === undefined) throw new TypeError('it is not JSON');
  const { tokens } = isObject(content) ? content : {};
  if (!Array.isArray(tokens)) throw new TypeError('it has no list "tokens"');
  const known = tokens.map((each: unknown, index) => parseToken(each, `tokens[${index}]`, classes));
  const names = new Set<string>();
  for (const { name } of known) {
    if (names.has(name)) throw new TypeError(`two tokens are named ${JSON.stringify(name)}`);
    names.add(name);
  }
  return known;
}

/** The text of a token file, as `parseTokenFile` reads it. */
export function formatTokenFile(tokens: readonly KnownToken[]): string {
  return `${JSON.stringify({ tokens }, null, 2)}\n`;
}

/** Whether a text can be a token's name: it appears in logs, so it is short and plain. */
export function isTokenName(name: unknown): name is string {
  return typeof name === 'string' && /^[\w.@-]{1,64}$/.test(name);
}

/** Whether a text is a moment: a date, which begins at midnight UTC, or a time with its zone. */
export function isMoment(text: unknown): text is string {
  const form = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;
  return typeof text === 'string' && form.test(text) && !Number.isNaN(Date.parse(text));
}

function parseToken(token: unknown, at: string, classes: CallerClasses | undefined): KnownToken {
  if (typeof token !== 'object' || !token) throw new TypeError(`${at} is not an object`);
  const { class: callerClass, expires, name, role, sha256 } = token as Record<string, unknown>;
  if (!isTokenName(name)) {
    throw new TypeError(`${at}.name is not a string of 1 to 64 letters, digits or any of . _ @ -`);
  }
  const known = roles.find((each) => each === role);
  if (!known) throw new TypeError(`${at}.role is not one of ${roles.join(', ')}`);
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) {
    throw new TypeError(`${at}.sha256 is not a string of 64 hexadecimal digits`);
  }
  // A mistyped class must not have more than its share.
  if (callerClass !== undefined && !isKnownClass(callerClass, classes)) {
    const wanted = classes
      ? `a class of CALLER_CLASSES (${[...classes.keys()].join(', ')})`
      : 'the name of a class, such as agent';
    throw new TypeError(`${at}.class is not ${wanted}`);
  }
  // A mistyped date must not make a token that never runs out.
  if (expires !== undefined && !isMoment(expires)) {
    throw new TypeError(`${at}.expires is not a date such as 2030-01-31`);
  }
  return {
    name,
    role: known,
    sha256,
    ...(callerClass === undefined ? {} : { class: callerClass }),
    ...(expires === undefined ? {} : { expires }),
  };
}

function isKnownClass(name: unknown, classes: CallerClasses | undefined): name is string {
  return isClassName(name) && (!classes || classes.has(name) || name === DEFAULT_CLASS);
}
