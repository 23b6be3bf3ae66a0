import { hash } from 'node:crypto';
import { usePersistedOperations } from '@graphql-yoga/plugin-persisted-operations';
import { GraphQLError } from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { BoundedMap } from '../../bounded-map.ts';
import { BadUserInput, GatewayError } from '../../errors.ts';

/**
 * Text that `useAutomaticPersistence` remembers, in characters: a bound on the number of texts would
 * let a few long ones take all memory.
 */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * Automatic persisted queries: a client sends the SHA-256 of a text in place of the text, and the text
 * with it when the gateway does not know the hash. This makes GETs short enough for a browser to cache.
 */
export function useAutomaticPersistence(): Plugin {
  const known = new BoundedMap<string>({
    max: MAX_CHARACTERS,
    maxShare: 1 / 8,
    weigh: (_, { length }) => length,
  });
  return {
    onParams({ params, setParams }) {
      const id = idOf(params);
      if (id === null) return;
      if (typeof params.query === 'string' && params.query !== '') {
        if (hash('sha256', params.query) !== id) {
          throw new BadUserInput('The sha256Hash is not that of the query.');
        }
        known.set(id, params.query);
        return;
      }
      const text = known.get(id);
      if (text === undefined) throw notFound();
      setParams({ ...params, query: text });
    },
  };
}

/** Answers the operations of a list, by their ids, and no others: neither by id nor by text. */
export function useAllowList(operations: ReadonlyMap<string, string>): Plugin {
  const wanted = (): GraphQLError => refused('This gateway answers known operations by their ids.');
  return usePersistedOperations({
    extractPersistedOperationId: idOf,
    getPersistedOperation: (id) => operations.get(id) ?? null,
    customErrors: { notFound, keyNotFound: wanted, persistedQueryOnly: wanted },
  }) as Plugin;
}

/** The id that stands for a text, by Apollo's protocol or by the draft of GraphQL over HTTP. */
function idOf(params: GraphQLParams): string | null {
  const { documentId } = params as { readonly documentId?: unknown };
  if (typeof documentId === 'string') return documentId;
  const { persistedQuery } = (params.extensions ?? {}) as {
    readonly persistedQuery?: { readonly version?: unknown; readonly sha256Hash?: unknown } | null;
  };
  const { version, sha256Hash } = persistedQuery ?? {};
  return version === 1 && typeof sha256Hash === 'string' ? sha256Hash : null;
}

/** The words, and a status that is no 400, are what clients go by to send the text after all. */
function notFound(): GraphQLError {
  return new GraphQLError('PersistedQueryNotFound', {
    extensions: { code: 'BAD_USER_INPUT', http: { status: 404 } },
  });
}

function refused(sentence: string): GraphQLError {
  return new GraphQLError(sentence, { originalError: new GatewayError('FORBIDDEN', sentence) });
}
