/** The types of an answer that comes in parts. */
export type PartsType = 'multipart/mixed' | 'text/event-stream';

/** What this gateway sends in parts, in the order in which it prefers them. */
const PARTS: readonly PartsType[] = ['multipart/mixed', 'text/event-stream'];

/**
 * The format of the parts, by each of its names: `{"incremental":[{"data":…,"path":…}],"hasNext":…}`, as
 * GraphQL's draft had it in August 2022. Apollo's clients name it or another; urql's and most of
 * Relay's name none and read this one.
 */
const SPOKEN = new Set(['deferspec=20220824', 'incrementalspec=v0.1']);

/**
 * The type in which a client with this `Accept` header can be sent parts that it can read; `null` when
 * there is none. A wildcard names no format, and a client that knows of parts names them.
 */
export function acceptedParts(accept: string | null): PartsType | null {
  if (accept === null) return null;
  const named = new Set<string>();
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.replace(/[\s"]/g, ''));
    if (parameters.every(isSpoken)) named.add(type);
  }
  return PARTS.find((type) => named.has(type)) ?? null;
}

/** Whether a client with this `Accept` header names JSON, or anything that includes it. */
export function acceptsJson(accept: string | null): boolean {
  return accept === null || /\*\/\*|application\/(?:\*|json|graphql-response\+json)/i.test(accept);
}

/** A parameter that names another format, or says that the type is not wanted, speaks against it. */
function isSpoken(parameter: string): boolean {
  if (/^q=0(?:\.0*)?$/.test(parameter)) return false;
  return SPOKEN.has(parameter) || !/^\w*spec=/.test(parameter);
}
