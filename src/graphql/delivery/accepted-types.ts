import { acceptedJson, qualityOf, rangesNaming } from '../../http/door/headers/accept.ts';

/** The types of an answer that comes in parts, in the order in which this gateway prefers them. */
const PARTS = ['multipart/mixed', 'text/event-stream'] as const;

/** A type of an answer that comes in parts. */
export type PartsType = (typeof PARTS)[number];

/**
 * The format of the parts, by each of its names: `{"incremental":[{"data":…,"path":…}],"hasNext":…}`, as
 * GraphQL's draft had it in August 2022. Apollo's clients name it or another; urql's and most of
 * Relay's name none and read this one.
 */
const SPOKEN = new Set(['deferspec=20220824', 'incrementalspec=v0.1']);

/** The body of a 406. */
export const NOT_ACCEPTABLE = JSON.stringify({
  errors: [
    {
      message: 'Accept application/json or application/graphql-response+json.',
      extensions: { code: 'BAD_USER_INPUT' },
    },
  ],
});

/** An `Accept` header; `null` for one that, like none, leads to JSON alone: most requests have such a one. */
export function tellingAccept(accept: string | null): string | null {
  return accept === '*/*' || accept === 'application/json' ? null : accept;
}

/** Whether a client accepts any type in which an operation is answered. */
export function isAcceptable(accept: string): boolean {
  return acceptsJson(accept) || PARTS.some((type) => qualityOf(accept, type) > 0);
}

/**
 * The type in which a client with this `Accept` header can be sent parts that it can read; `null` when there is none, or
 * when it wants JSON more. A wildcard names no format, and a client that knows of parts names them.
 */
export function acceptedParts(accept: string | null): PartsType | null {
  if (accept === null) return null;
  const spoken = PARTS.flatMap((type) => {
    const [range] = rangesNaming(accept, type, ({ parameters }) => parameters.every(isSpoken));
    return range ? [{ type, quality: range.quality }] : [];
  });
  const best = Math.max(...spoken.map(({ quality }) => quality));
  return spoken.find(({ quality }) => quality === best)?.type ?? null;
}

/** Whether a client with this `Accept` header takes JSON, or anything that includes it. */
export function acceptsJson(accept: string | null): boolean {
  return acceptedJson(accept).quality > 0;
}

/** A parameter that names another format speaks against a type. */
function isSpoken(parameter: string): boolean {
  return SPOKEN.has(parameter) || !/^\w*spec=/.test(parameter);
}
