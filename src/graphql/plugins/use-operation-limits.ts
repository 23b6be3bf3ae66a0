import { type DocumentNode, type GraphQLSchema, getOperationAST } from 'graphql';
import type { OperationTexts } from '../limits/operation-texts.ts';
import type { GatewayPlugin } from '../request-record.ts';

/**
 * Refuses a text that would take long to check or to answer, with `OPERATION_TOO_EXPENSIVE`, and one
 * that asks for the schema where that is not published. All of it is done with the parsing, so that a
 * refusal costs no validation, and a text in Yoga's cache of parsed documents is not checked again. What
 * depends on variables, the rows asked for and the size of each input, is checked before the execution.
 * What the fast path has parsed and found valid is neither parsed nor validated again.
 */
export function useOperationLimits(texts: OperationTexts): GatewayPlugin {
  return {
    onParse({ context, setParsedDocument, setParseFn }) {
      const read = context.record.names?.read;
      if (read) setParsedDocument(read.document);
      else setParseFn((source: string, options: object) => texts.parse(source, options));
    },
    onValidate({ context, params, setResult }) {
      const read = context.record.names?.read;
      if (read?.isValid && read.document === params.documentAST) setResult([]);
    },
    onExecute({ args }) {
      const document = args.document as DocumentNode;
      const schema = args.schema as GraphQLSchema;
      const operation = getOperationAST(document, args.operationName);
      if (!operation) return;
      const variables = (args.variableValues ?? {}) as Readonly<Record<string, unknown>>;
      texts.input.check({ schema, document, operation }, variables);
    },
  };
}
