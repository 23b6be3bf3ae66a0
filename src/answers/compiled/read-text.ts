import type { DocumentNode, GraphQLSchema, OperationDefinitionNode, ParseOptions } from 'graphql';
import type { Variables } from './planner.ts';

/** A query of a valid document that selects no secret. */
export interface ReadQuery {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

/** A text that could be parsed within its limits. */
export interface ReadText {
  readonly document: DocumentNode;
  /** The requested operation; `null` if Yoga must execute it. */
  readonly query: ReadQuery | null;
}

/** Parses a text for an operation of that name; `null` if Yoga must report an error. */
export type TextReader = (
  text: string,
  operationName: string | null,
  options?: ParseOptions,
) => ReadText | null;

/**
 * Limits the variables of a query.
 * @throws GatewayError for those that exceed a limit.
 */
export type VariableCheck = (query: ReadQuery, variables: Variables) => void;
