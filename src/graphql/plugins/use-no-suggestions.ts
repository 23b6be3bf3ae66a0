import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** A complaint of GraphQL without what a misspelled word is close to: those add up to the whole schema. */
export function withoutSuggestion(message: string): string {
  return message.replace(/ Did you mean .*\?$/s, '');
}

/** Takes the suggestions out of complaints about a document; those about values pass `maskError`. */
export function useNoSuggestions(): Plugin {
  return {
    onValidate() {
      return ({ valid, result, setResult }) => {
        if (!valid) setResult(result.map(plain));
      };
    },
  };
}

function plain(error: Error): Error {
  if (!(error instanceof GraphQLError)) return error;
  const { nodes, source, positions, extensions } = error;
  const located = { nodes: nodes ?? null, source: source ?? null, positions: positions ?? null };
  return new GraphQLError(withoutSuggestion(error.message), { ...located, extensions });
}
