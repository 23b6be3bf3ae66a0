import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import {
  createYoga,
  type Plugin,
  type YogaInitialContext,
  type YogaServerInstance,
} from 'graphql-yoga';
import { BoundedMap } from '../../bounded-map.ts';
import type { MaskError } from './mask-error.ts';
import { type BodyLimits, useBodyLimit } from './use-body-limit.ts';
import { useCsrfGuard } from './use-csrf-guard.ts';
import { useMultipartFaults } from './use-multipart-faults.ts';
import { useParameterFaults } from './use-parameter-faults.ts';

/** Text whose parsed form is kept, in characters; that form takes some hundred times the memory. */
const MAX_PARSED_CHARACTERS = 512 * 1024;

/** What Node gave, when the request came over a socket; absent when it came through `fetch`. */
export interface SocketContext {
  readonly req?: IncomingMessage;
  readonly res?: ServerResponse;
}

/** What Yoga is made of here. Everything about a noun is in `schema` and what `createContext` returns. */
export interface GraphqlOptions<Context extends object> extends BodyLimits {
  readonly schema: GraphQLSchema;
  /** Called once per operation, after it was found valid. */
  readonly createContext: (
    initial: YogaInitialContext & SocketContext,
  ) => Context | Promise<Context>;
  readonly plugins?: readonly Plugin[];
  readonly maskError: MaskError;
  /** Pages of these origins may call; no others. */
  readonly corsOrigins: readonly string[];
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
  const { corsOrigins, createContext, maskError, schema } = options;
  return createYoga<SocketContext, Record<string, unknown>>({
    schema,
    context: async (initial) => {
      const own: object = await createContext(initial);
      return { ...own };
    },
    plugins: [
      useCsrfGuard(corsOrigins),
      ...(corsOrigins.length > 0 ? [useVaryOrigin()] : []),
      ...(options.plugins ?? []),
      useBodyLimit(options),
      useMultipartFaults(),
      useParameterFaults(),
    ],
    maskedErrors: { maskError },
    cors: corsOrigins.length > 0 && ((request) => corsFor(request, corsOrigins)),
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

/**
 * An origin that is not listed gets no CORS header at all. Left to itself, the library would answer it
 * with the origin "null", which is what a sandboxed frame of any page calls itself. Credentials are
 * off: callers are known by a header, never by a cookie.
 */
function corsFor(
  request: Request,
  origins: readonly string[],
): false | { origin: string; credentials: boolean; maxAge: number; methods: string[] } {
  const origin = request.headers.get('origin') ?? '';
  return origins.includes(origin)
    ? { origin, credentials: false, maxAge: 600, methods: ['GET', 'POST'] }
    : false;
}

/** Keeps a shared cache from handing one origin's answer to another. */
function useVaryOrigin(): Plugin {
  return {
    onResponse({ response }) {
      response.headers.append('Vary', 'Origin');
    },
  };
}
