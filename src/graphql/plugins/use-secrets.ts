import { type DocumentNode, type GraphQLSchema, getOperationAST } from 'graphql';
import { selectsSecret } from '../limits/secrets.ts';
import type { GatewayPlugin } from '../request-record.ts';

/**
 * Notes on the record whether the answer holds secrets: by the fields of the schema whose extensions say
 * `secret`, wherever the operation selects them. All that must not be done with secrets goes by this:
 * storing, tagging and compressing an answer. See `RequestRecord.holdsSecrets`.
 */
export function useSecrets(): GatewayPlugin {
  return {
    onExecute({ args }) {
      const document = args.document as DocumentNode;
      const operation = getOperationAST(document, args.operationName);
      const { record } = args.contextValue;
      record.holdsSecrets =
        !operation || selectsSecret(args.schema as GraphQLSchema, document, operation);
    },
  };
}
