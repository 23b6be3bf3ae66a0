import { GraphQLError } from 'graphql';
import type { OperationTexts } from '../limits/operation-texts.ts';
import { withoutSuggestion } from '../mask-error.ts';
import type { GatewayPlugin } from '../request-record.ts';

/**
 * Refuses a text that would take long to check or to answer, with `OPERATION_TOO_EXPENSIVE`, and one
 * that asks for the schema where that is not published; there, complaints about a text suggest nothing either.
 * All of it is done with the parsing, so that a refusal costs no validation, and a text in Yoga's cache of parsed
 * documents is not checked again. What depends on variables is checked before the execution.
 * What the fast path has parsed and found valid is neither parsed nor validated again; most that is valid is found so
 * on one walk.
 */
export function useOperationLimits(
  texts: OperationTexts,
  { introspection }: { readonly introspection: boolean },
): GatewayPlugin {
  return {
    onParse({ context, setParsedDocument, setParseFn }) {
      const read = context.record.names?.read;
      if (read) setParsedDocument(read.document);
      else setParseFn((source: string, options: object) => texts.parse(source, options));
    },
    onValidate({ params, setResult }) {
      // What is wrong with one that is not is for Yoga to say.
      if (texts.isValid(params.documentAST)) setResult([]);
      if (introspection) return undefined;
      return ({ result, setResult: setShown, valid }) => {
        if (!valid) setShown(result.map(plain));
      };
    },
  };
}

/** The same without a suggestion. Complaints about values pass `maskError`. */
function plain(error: Error): Error {
  if (!(error instanceof GraphQLError)) return error;
  const { nodes, source, positions, extensions } = error;
  const located = { nodes: nodes ?? null, source: source ?? null, positions: positions ?? null };
  return new GraphQLError(withoutSuggestion(error.message), { ...located, extensions });
}
