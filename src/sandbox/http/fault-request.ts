import type { ActiveFault, Fault } from './faults.ts';

/** Faults that a request can set: those without a function of a test. */
type WireKind = Exclude<Fault['kind'], 'hold' | 'answer'>;

/** The effect of each kind, and its own members. */
export const kinds: Readonly<Record<WireKind, { does: string; own: readonly string[] }>> = {
  slow: { does: 'the normal response, delayMs milliseconds later', own: ['delayMs', 'applied'] },
  'refuse-429': {
    does: 'refusal by the rate limit: HTTP 429, Retry-After of retryAfter seconds (60; null for none)',
    own: ['retryAfter', 'applied'],
  },
  'refuse-200': {
    does: 'refusal by the rate limit with HTTP 200, as some installations of the link API send it',
    own: ['retryAfter', 'applied'],
  },
  'bad-key': { does: 'HTTP 401, as for a key that does not exist', own: [] },
  'error-500': { does: 'HTTP 500 in the failure form of the API', own: ['applied'] },
  html: { does: 'an HTML page, with the HTTP status of status (200)', own: ['status', 'applied'] },
  empty: {
    does: 'an empty body, with the HTTP status of status (200)',
    own: ['status', 'applied'],
  },
  truncated: { does: 'half of the normal response, then the connection is closed', own: [] },
  hang: { does: 'no response; the connection stays open', own: ['applied'] },
  drop: {
    does: 'the connection is closed without a response: before a write is applied, or after it with applied',
    own: ['applied'],
  },
};

/** Maximum duration of a fault, in milliseconds. */
const DAY_MS = 86_400_000;

interface Member {
  readonly allows: (value: unknown) => boolean;
  readonly must: string;
}

const whole = (min: number, max: number): Member => ({
  allows: (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  must: `must be a whole number from ${min} to ${max}`,
});

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

const members: Readonly<Record<string, Member>> = {
  kind: {
    allows: (value) => typeof value === 'string' && Object.hasOwn(kinds, value),
    must: `must be one of ${Object.keys(kinds).join(', ')}`,
  },
  method: {
    allows: (value) => METHODS.includes(String(value)),
    must: `must be one of ${METHODS.join(', ')}`,
  },
  path: {
    allows: (value) => typeof value === 'string' && /^\/api[/*].{0,200}$/.test(value),
    must: 'must begin with /api/ and have at most 200 characters; * stands for any characters',
  },
  containing: {
    allows: (value) => typeof value === 'string' && value.length >= 1 && value.length <= 200,
    must: 'must be a text of 1 to 200 characters',
  },
  times: whole(1, 10_000),
  forMs: whole(1, DAY_MS),
  applied: { allows: (value) => typeof value === 'boolean', must: 'must be true or false' },
  delayMs: whole(1, 600_000),
  retryAfter: {
    allows: (value) => value === null || whole(0, 86_400).allows(value),
    must: 'must be null or a whole number of seconds from 0 to 86400',
  },
  status: {
    allows: (value) => value === 200 || whole(400, 599).allows(value),
    must: 'must be 200, or from 400 to 599',
  },
};

const SCOPE = ['kind', 'method', 'path', 'containing', 'times', 'forMs'];

/** Parses the fault in a body, or returns all issues. */
export function readFault(text: string): { fault: Fault } | { issues: string[] } {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return { issues: ['The body must be JSON, such as {"kind":"slow","delayMs":3000}.'] };
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return { issues: ['The body must be one JSON object.'] };
  }
  const fault = given as Record<string, unknown>;
  const kind = fault['kind'];
  if (!members['kind']?.allows(kind)) return { issues: [`kind ${members['kind']?.must}.`] };
  const known = [...SCOPE, ...kinds[kind as WireKind].own];
  const issues = Object.entries(fault).flatMap(([name, value]) => {
    if (!known.includes(name)) {
      const shown = JSON.stringify(name.slice(0, 40));
      return [`${shown} is not a member of this kind of fault. Members: ${known.join(', ')}.`];
    }
    return members[name]?.allows(value) ? [] : [`${name} ${members[name]?.must}.`];
  });
  if (kind === 'slow' && fault['delayMs'] === undefined) {
    issues.push(`delayMs is missing: it ${members['delayMs']?.must}.`);
  }
  return issues.length > 0 ? { issues: issues.slice(0, 20) } : { fault: fault as unknown as Fault };
}

/** A fault as in a response; `left` and `endsAt` are null without such an end. */
export function showFault({ id, fault, left, until }: ActiveFault): Record<string, unknown> {
  const { times: _times, forMs: _forMs, ...described } = fault;
  return {
    id,
    ...described,
    ...(fault.path === undefined ? {} : { path: String(fault.path) }),
    left: Number.isFinite(left) ? left : null,
    endsAt: Number.isFinite(until) ? new Date(until).toISOString() : null,
  };
}
