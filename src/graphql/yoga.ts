import type { ExecutionResult, GraphQLSchema } from 'graphql';
import {
  createYoga,
  type Plugin,
  type YogaInitialContext,
  type YogaServerInstance,
} from 'graphql-yoga';
import { BoundedMap } from '../bounded-map.ts';
import type { Part } from './delivery.ts';
import type { MaskError } from './mask-error.ts';
import type { ServerContext } from './request-record.ts';

/**
 * Total length of texts whose parsed form is cached, in characters; that form takes about a hundred times the
 * memory.
 */
const MAX_PARSED_CHARACTERS = 512 * 1024;

/** What Yoga is made of here. Everything about a noun is in `schema` and what `createContext` returns. */
export interface GraphqlOptions<Context extends object> {
  readonly schema: GraphQLSchema;
  /** Called once per operation, after it was found valid. */
  readonly createContext: (initial: YogaInitialContext & ServerContext) => Context;
  /** In the order in which their hooks run. */
  readonly plugins: readonly (Plugin<ServerContext & Context, ServerContext, Context> | Plugin)[];
  readonly maskError: MaskError;
}

/** Yoga as this gateway uses it: `fetch` for tests and embedding, callable as a `node:http` listener. */
export type GraphqlServer<Context extends object> = YogaServerInstance<ServerContext, Context>;

/**
 * Creates the GraphQL server: GraphQL over HTTP on `/graphql`, with errors as in `maskError`. Yoga's own handling
 * of origins, pages, logs and sizes is disabled: the door and `plugins` do it.
 */
export function createGraphqlServer<Context extends object>(
  options: GraphqlOptions<Context>,
): GraphqlServer<Context> {
  const { createContext, maskError, plugins, schema } = options;
  return createYoga<ServerContext, Context>({
    schema,
    context: createContext,
    plugins: [maskedParts(maskError), ...plugins] as Plugin[],
    maskedErrors: { maskError },
    cors: false,
    graphiql: false,
    // Yoga would handle every URL with this end itself, before the first plugin. No URL contains a space.
    healthCheckEndpoint: ' ',
    landingPage: false,
    logging: false,
    maxRequestBodySize: false,
    multipart: false,
    parserAndValidationCache: {
      documentCache: rememberByText(MAX_PARSED_CHARACTERS),
      errorCache: rememberByText(MAX_PARSED_CHARACTERS / 4),
    },
  });
}

/**
 * Masks the errors of every part of a response. Yoga masks only those at the top of a part, and the plugins after
 * this one must see what the caller will.
 */
function maskedParts(maskError: MaskError): Plugin {
  const mask = <P extends Pick<ExecutionResult, 'errors'>>(part: P): P =>
    part.errors ? { ...part, errors: part.errors.map((error) => maskError(error)) } : part;
  const maskAll = ({ incremental, completed, ...rest }: Part): Part => ({
    ...mask(rest),
    ...(incremental ? { incremental: incremental.map(mask) } : {}),
    ...(completed ? { completed: completed.map(mask) } : {}),
  });
  const hooks: ReturnType<NonNullable<Plugin['onExecute']>> = {
    onExecuteDone: ({ result }) =>
      Symbol.asyncIterator in result
        ? { onNext: ({ result: part, setResult }) => setResult(maskAll(part)) }
        : undefined,
  };
  return { onExecute: () => hooks };
}

/**
 * Something for each of the texts that callers send. It is bounded by the characters of the texts and
 * not by their number, which would let a few long ones take all memory.
 */
function rememberByText<V extends object>(maxCharacters: number): BoundedMap<V> {
  return new BoundedMap({ max: maxCharacters, maxShare: 1 / 8, weigh: ({ length }) => length });
}
