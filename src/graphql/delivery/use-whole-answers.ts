import { type DocumentNode, Kind, visit } from 'graphql';
import { getSSEProcessor, processRegularResult } from 'graphql-yoga';
import { acceptedJson, hasQualities, qualityOf } from '../../http/door/headers/accept.ts';
import type { GatewayPlugin } from '../request-record.ts';
import { acceptedParts, acceptsJson } from './accepted-parts.ts';

/**
 * Answers an operation with `@defer` or `@stream` whole, as one JSON object, when the client's `Accept`
 * names no format of parts that the gateway speaks: the directives allow the parts and do not ask
 * for them. Where it does, the parts go out as a type that was named with that format.
 */
export function useWholeAnswers(): GatewayPlugin {
  const wholes = new WeakMap<DocumentNode, DocumentNode>();
  const wholeOf = (document: DocumentNode): DocumentNode => {
    let whole = wholes.get(document);
    if (!whole) {
      whole = withoutParts(document);
      wholes.set(document, whole);
    }
    return whole;
  };
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      if (wholeOf(args.document as DocumentNode) === args.document) return;
      if (acceptedParts(args.contextValue.request.headers.get('accept')) !== null) return;
      // Refers to no document: a live query keeps the function, and calls it with one of its own.
      setExecuteFn(
        (input) => executeFn({ ...input, document: wholeOf(input.document) }) as unknown,
      );
    },
    onResultProcess(payload) {
      const { request, result } = payload;
      const accept = request.headers.get('accept');
      const parts = acceptedParts(accept);
      if (Symbol.asyncIterator in result) {
        // Yoga goes by the type alone, and takes the other one where both are named.
        if (parts === 'text/event-stream') payload.setResultProcessor(getSSEProcessor(), parts);
      } else if (hasQualities(accept)) {
        setWantedType(payload, accept);
      } else if (parts === null && !acceptsJson(accept) && namesParts(accept)) {
        payload.setResultProcessor(processRegularResult, 'application/json');
      }
    },
  };
}

type Payload = Parameters<NonNullable<GatewayPlugin['onResultProcess']>>[0];

/** Sends a whole answer as what is wanted most, which Yoga does not look at; a client that takes JSON gets JSON. */
function setWantedType(payload: Pick<Payload, 'setResultProcessor'>, accept: string | null): void {
  const json = acceptedJson(accept);
  if (json.quality > 0) {
    payload.setResultProcessor(processRegularResult, json.type);
  } else if (qualityOf(accept, 'text/event-stream') > 0) {
    payload.setResultProcessor(getSSEProcessor(), 'text/event-stream');
  }
}

/** Whether parts are named at all, be it in a format that is not spoken here. */
function namesParts(accept: string | null): boolean {
  return /multipart\/mixed|text\/event-stream/i.test(accept ?? '');
}

/** The same operations without the directives that allow parts; the same object when there are none. */
export function withoutParts(document: DocumentNode): DocumentNode {
  return visit(document, {
    [Kind.DIRECTIVE]: ({ name }) =>
      name.value === 'defer' || name.value === 'stream' ? null : undefined,
  });
}
