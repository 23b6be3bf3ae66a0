import { type DocumentNode, type GraphQLSchema, getOperationAST, OperationTypeNode } from 'graphql';
import { written } from '../../answers/answer-json.ts';
import type { CompiledQueries } from '../../answers/compiled-queries.ts';
import type { GatewayPlugin } from '../request-record.ts';

/**
 * Executes a query by its compiled plan where that answers it at once from the cache, and else by the executor: the
 * data is the same, see `CompiledQueries`. What comes through `fetch` has no socket, and the executor answers it
 * always.
 */
export function useCompiledQueries({
  operations,
}: {
  readonly operations: CompiledQueries;
}): GatewayPlugin {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const { dryRun, receipt, record, req, viewer } = args.contextValue;
      if (!req || record.holdsSecrets || record.live || dryRun) return;
      const document = args.document as DocumentNode;
      const operation = getOperationAST(document, args.operationName);
      if (operation?.operation !== OperationTypeNode.QUERY) return;
      const query = { schema: args.schema as GraphQLSchema, document, operation };
      const variables = (args.variableValues ?? {}) as Readonly<Record<string, unknown>>;
      setExecuteFn((input) => {
        const json = operations.execute({ query, receipt, variables, viewer });
        if (json === null) return executeFn(input) as unknown;
        return { data: written(json) };
      });
    },
  };
}
