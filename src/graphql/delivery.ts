import { type DocumentNode, type ExecutionResult, Kind, visit } from 'graphql';
import { getSSEProcessor, processRegularResult } from 'graphql-yoga';
import {
  acceptedJson,
  hasQualities,
  qualityOf,
  rangesNaming,
} from '../http/door/headers/accept.ts';
import type { GatewayPlugin } from './request-record.ts';

/** The types of an incremental response, in this gateway's order of preference. */
const PARTS = ['multipart/mixed', 'text/event-stream'] as const;

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

/** Whether a client accepts any type of response to an operation. */
export function isAcceptable(accept: string): boolean {
  return acceptsJson(accept) || PARTS.some((type) => qualityOf(accept, type) > 0);
}

/**
 * The type of incremental response that a client with this `Accept` header supports; `null` if there is none, or
 * it prefers JSON. A wildcard does not count: a client that supports incremental responses names the type.
 */
function acceptedParts(accept: string | null): (typeof PARTS)[number] | null {
  if (accept === null) return null;
  const spoken = PARTS.flatMap((type) => {
    const [range] = rangesNaming(accept, type, ({ parameters }) => parameters.every(isSpoken));
    return range ? [{ type, quality: range.quality }] : [];
  });
  const best = Math.max(...spoken.map(({ quality }) => quality));
  return spoken.find(({ quality }) => quality === best)?.type ?? null;
}

/** Whether a client with this `Accept` header takes JSON, or anything that includes it. */
function acceptsJson(accept: string | null): boolean {
  return acceptedJson(accept).quality > 0;
}

/** A parameter with another format excludes a type. */
function isSpoken(parameter: string): boolean {
  return SPOKEN.has(parameter) || !/^\w*spec=/.test(parameter);
}

/** A response, or one of the parts that `@defer` and `@stream` deliver. */
export type Part = ExecutionResult & {
  readonly hasNext?: boolean;
  readonly incremental?: readonly ExecutionResult[];
  readonly completed?: readonly Pick<ExecutionResult, 'errors'>[];
};

const wholes = new WeakMap<DocumentNode, DocumentNode>();

/**
 * The document that is executed for a client with this `Accept` header. A client without support for the gateway's
 * format receives the whole response as one JSON object: `@defer` and `@stream` permit parts and do not require
 * them.
 */
export function documentFor(accept: string | null, document: DocumentNode): DocumentNode {
  let whole = wholes.get(document);
  if (!whole) {
    whole = mayHaveParts(document) ? withoutParts(document) : document;
    wholes.set(document, whole);
  }
  return whole === document || acceptedParts(accept) === null ? whole : document;
}

/** Whether a text contains the words: few texts need a visit. */
function mayHaveParts({ loc }: DocumentNode): boolean {
  return !loc || /defer|stream/.test(loc.source.body);
}

/** The same operations without the directives that allow parts; the same object when there are none. */
export function withoutParts(document: DocumentNode): DocumentNode {
  return visit(document, {
    [Kind.DIRECTIVE]: ({ name }) =>
      name.value === 'defer' || name.value === 'stream' ? null : undefined,
  });
}

/**
 * Sends a response in the type that its client prefers, if Yoga would not: parts as the named type with the
 * supported format, a whole response by the qualities, and JSON to a client that names incremental types only.
 */
export function setWantedType(
  payload: Parameters<NonNullable<GatewayPlugin['onResultProcess']>>[0],
  accept: string | null,
): void {
  const { result } = payload;
  if (Symbol.asyncIterator in result) {
    // Yoga compares the type alone, and selects the other one if both are named.
    const parts = acceptedParts(accept);
    if (parts === 'text/event-stream') payload.setResultProcessor(getSSEProcessor(), parts);
  } else if (hasQualities(accept)) {
    const json = acceptedJson(accept);
    if (json.quality > 0) payload.setResultProcessor(processRegularResult, json.type);
    else if (qualityOf(accept, 'text/event-stream') > 0) {
      payload.setResultProcessor(getSSEProcessor(), 'text/event-stream');
    }
  } else if (namesParts(accept) && acceptedParts(accept) === null && !acceptsJson(accept)) {
    payload.setResultProcessor(processRegularResult, 'application/json');
  }
}

/** Whether parts are named at all, be it in a format that is not spoken here. */
function namesParts(accept: string | null): boolean {
  return /multipart\/mixed|text\/event-stream/i.test(accept ?? '');
}

/** The same parts with another one for the last of them. */
export async function* withLast(
  parts: AsyncIterable<Part>,
  change: (last: Part) => Part,
): AsyncGenerator<Part> {
  for await (const part of parts) yield part.hasNext === false ? change(part) : part;
}
