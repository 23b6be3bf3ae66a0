import { hash } from 'node:crypto';
import { GraphQLError } from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { BoundedMap } from '../../bounded-map.ts';
import { BadUserInput, GatewayError } from '../../errors.ts';
import type { GatewayPlugin } from '../request-record.ts';

/**
 * Text that `useAutomaticPersistence` remembers, in characters: a bound on the number of texts would
 * let a few long ones take all memory.
 */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * Automatic persisted queries: a client sends the SHA-256 of a text instead of the text, and the text too if the
 * gateway does not have it. This makes GETs short enough for a browser to cache.
 */
export function useAutomaticPersistence(): Plugin {
  const known = new BoundedMap<string>({
    max: MAX_CHARACTERS,
    maxShare: 1 / 8,
    weigh: (_, { length }) => length,
  });
  return {
    onParams({ params, request, setParams }) {
      const { id, text, rest } = readNames(params, request);
      if (id !== null && text !== null) {
        if (hash('sha256', text) !== id) {
          throw new BadUserInput('The id of the operation is not the SHA-256 hash of its text.');
        }
        known.set(id, text);
      }
      setParams({
        ...rest,
        ...(id === null ? {} : { query: text ?? known.get(id) ?? notFound() }),
      });
    },
  };
}

/** Accepts only the operations of a list, by their ids or with their exact texts. */
export function useAllowList(operations: ReadonlyMap<string, string>): GatewayPlugin {
  const listed = byBareId(operations);
  return {
    onParams({ params, request, setParams }) {
      const { id, text, rest } = readNames(params, request);
      const query = id === null ? undefined : listed.get(id);
      if (id === null || (text !== null && query === undefined)) {
        throw new GatewayError(
          'FORBIDDEN',
          'This gateway accepts only listed operations. Send the id of a listed operation.',
        );
      }
      if (text !== null && text !== query) {
        throw new BadUserInput('The text of the operation does not match its id.');
      }
      setParams({ ...rest, query: query ?? notFound() });
    },
  };
}

/** Listed operations by their bare ids. */
export function byBareId(operations: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...operations].map(([id, text]) => [bareId(id), text]));
}

/** The names of the operation in a request. */
interface OperationNames {
  /** `null` when it has none. */
  readonly id: string | null;
  /** `null` if only the id is sent. */
  readonly text: string | null;
  /** All other parameters, for the checks that follow. */
  readonly rest: GraphQLParams;
}

/**
 * Reads the id of a text: `documentId`, as in the draft of GraphQL over HTTP, `doc_id`, as Relay's networks send
 * it, or the `persistedQuery` of Apollo's protocol; by GET the first two are parameters of the query.
 * @throws BadUserInput `BAD_USER_INPUT` for an id or a query that is not a string, and for two different ids.
 */
function readNames(params: GraphQLParams, request: Request): OperationNames {
  const { documentId, doc_id, ...rest } = params as GraphQLParams &
    Readonly<Record<string, unknown>>;
  const ids = [documentId, doc_id, hashOf(rest), ...idsInAddress(request)]
    .filter((id) => id !== null && id !== undefined)
    .map((id) => {
      if (typeof id === 'string' && id !== '') return bareId(id);
      throw new BadUserInput('The id of the operation must be a string.');
    });
  const [id = null] = ids;
  if (ids.some((other) => other !== id)) {
    throw new BadUserInput('The request has more than one operation id.');
  }
  const query: unknown = rest.query ?? '';
  if (typeof query !== 'string') throw new BadUserInput('"query" must be a string.');
  return { id, text: query === '' ? null : query, rest: rest as GraphQLParams };
}

/** What Yoga's parser leaves out of a GET. */
function idsInAddress({ method, url }: Request): readonly string[] {
  if (method !== 'GET' || !/[?&](?:documentId|doc_id)=/.test(url)) return [];
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1));
  return [...query.getAll('documentId'), ...query.getAll('doc_id')];
}

/** The hash by Apollo's protocol. */
function hashOf({ extensions }: GraphQLParams): string | null {
  const { persistedQuery } = (extensions ?? {}) as {
    readonly persistedQuery?: { readonly version?: unknown; readonly sha256Hash?: unknown } | null;
  };
  const { version, sha256Hash } = persistedQuery ?? {};
  return version === 1 && typeof sha256Hash === 'string' ? sha256Hash : null;
}

/** An id without the name of its hash: `sha256:…`, as the draft has it, is the bare one of Apollo. */
export function bareId(id: string): string {
  return id.replace(/^sha256:(?=[\da-f]{64}$)/, '');
}

/**
 * Clients send the text when they receive this message, or this code. Those that accept `application/json` only
 * may read no body without status 200, and receive one; no browser may store it.
 * @throws GraphQLError `PERSISTED_QUERY_NOT_FOUND`, always.
 */
function notFound(): never {
  const message = 'PersistedQueryNotFound';
  const headers = { 'Cache-Control': 'no-store' };
  throw new GraphQLError(message, {
    originalError: new GatewayError('PERSISTED_QUERY_NOT_FOUND', message),
    extensions: { http: { status: 404, spec: true, headers } },
  });
}
