import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
  validate,
} from 'graphql';
import { BadUserInput } from '../../errors.ts';
import type { MaskError } from '../mask-error.ts';
import type { OperationTexts } from './operation-texts.ts';

/** A valid operation, the only one of its document. */
export interface ParsedOperation {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

/** Parses operations that do not come as requests of their own, within the limits of all operations. */
export class OperationParser {
  readonly #schema: GraphQLSchema;
  readonly #texts: Pick<OperationTexts, 'check' | 'parse'>;
  readonly #maskError: MaskError;

  constructor(options: {
    readonly schema: GraphQLSchema;
    readonly texts: Pick<OperationTexts, 'check' | 'parse'>;
    readonly maskError: MaskError;
  }) {
    this.#schema = options.schema;
    this.#texts = options.texts;
    this.#maskError = options.maskError;
  }

  /**
   * Parses and validates a text. No upstream request.
   * @throws BadUserInput `BAD_USER_INPUT` for a text that is invalid, or has not exactly one operation.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for one that exceeds a limit.
   */
  parse(text: string, variables: Readonly<Record<string, unknown>>): ParsedOperation {
    const schema = this.#schema;
    const document = this.#valid(text);
    const operation = getOperationAST(document);
    if (!operation) throw new BadUserInput('The text must have exactly one operation.');
    this.#texts.check({ schema, document, operation }, variables);
    return { document, operation };
  }

  #valid(text: string): DocumentNode {
    let document: DocumentNode;
    try {
      document = this.#texts.parse(text);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      throw new BadUserInput(`The text cannot be parsed: ${error.message}`);
    }
    const [fault] = validate(this.#schema, document, undefined, { maxErrors: 1 });
    // As in a response: without similar names if the schema is not public.
    if (fault)
      throw new BadUserInput(`The text is invalid: ${withHint(this.#maskError(fault).message)}`);
    return document;
  }
}

/** The message of a validation error, with where the fields of rows are. */
function withHint(message: string): string {
  const [, field] = /^Cannot query field "(\w+)" on type "\w+Connection"/.exec(message) ?? [];
  return field === undefined ? message : `${message} The rows are in "nodes { ${field} }".`;
}
