import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import {
  createYoga,
  type Plugin,
  type YogaInitialContext,
  type YogaServerInstance,
} from 'graphql-yoga';
import { BoundedMap } from '../../bounded-map.ts';
import { type BodyLimits, useBodyLimit } from '../door/body-limit.ts';
import { type Origins, useOrigins } from '../door/origins.ts';
import type { MaskError } from './mask-error.ts';
import { useRequestFaults } from './use-request-faults.ts';

/** Text whose parsed form is kept, in characters; that form takes some hundred times the memory. */
const MAX_PARSED_CHARACTERS = 512 * 1024;

/** What Node gave, when the request came over a socket; absent when it came through `fetch`. */
export interface SocketContext {
  readonly req?: IncomingMessage;
  readonly res?: ServerResponse;
}

/** What Yoga is made of here. Everything about a noun is in `schema` and what `createContext` returns. */
export interface GraphqlOptions<Context extends object> {
  readonly schema: GraphQLSchema;
  /** Called once per operation, after it was found valid. */
  readonly createContext: (
    initial: YogaInitialContext & SocketContext,
  ) => Context | Promise<Context>;
  readonly plugins?: readonly Plugin[];
  readonly maskError: MaskError;
  readonly origins: Origins;
  readonly bodyLimits: BodyLimits;
}

/** Yoga as this gateway uses it: `fetch` for tests and embedding, callable as a `node:http` listener. */
export type GraphqlServer = YogaServerInstance<SocketContext, Record<string, unknown>>;

/**
 * Builds the GraphQL server: GraphQL over HTTP on `/graphql`, closed to other origins unless listed,
 * with errors as `maskError` says. GraphiQL is not its business: `http.ts` serves that.
 */
export function createGraphqlServer<Context extends object>(
  options: GraphqlOptions<Context>,
): GraphqlServer {
  const { bodyLimits, createContext, maskError, origins, schema } = options;
  return createYoga<SocketContext, Record<string, unknown>>({
    schema,
    context: async (initial) => {
      const own: object = await createContext(initial);
      return { ...own };
    },
    plugins: [
      useOrigins(origins),
      ...(options.plugins ?? []),
      useBodyLimit(bodyLimits),
      useRequestFaults(),
    ],
    maskedErrors: { maskError },
    cors: false,
    graphiql: false,
    landingPage: false,
    logging: false,
    maxRequestBodySize: false,
    parserAndValidationCache: {
      documentCache: rememberByText(MAX_PARSED_CHARACTERS),
      errorCache: rememberByText(MAX_PARSED_CHARACTERS / 4),
    },
  });
}

/**
 * Something for each of the texts that callers send. It is bounded by the characters of the texts and
 * not by their number, which would let a few long ones take all memory.
 */
function rememberByText<V extends object>(maxCharacters: number): BoundedMap<V> {
  return new BoundedMap({ max: maxCharacters, maxShare: 1 / 8, weigh: ({ length }) => length });
}
