import {
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type ParseOptions,
  parse,
  validate,
} from 'graphql';
import type { OperationLimits } from '../../config/config.ts';
import { idempotentFieldsRule } from '../operation-keys.ts';
import type { GatewayPlugin } from '../request-record.ts';
import { SCHEMA_WITHHELD, type SchemaAccess } from '../schema-access.ts';
import { type DocumentLimits, measureDocument } from './document-measures.ts';
import { checkVariables, type InputPlan, planInput } from './input.ts';
import { countRows } from './rows.ts';
import { checkText, invalid, tooExpensive } from './text.ts';

/** The advice for callers that send a subscription or open a WebSocket. */
export const ASK_LIVE =
  'To receive updates, send a query with the directive @live, such as "query @live { channels(first: 5) { nodes { name } } }", by HTTP POST with "Accept: text/event-stream".';

/** Absolute limit of nested selections: parsers are recursive. */
const MAX_NESTING = 1000;
/** Lines of a text in which errors have locations: to find the line, all before it are counted. */
const MAX_LINES = 300;

/** Maximum number of ids in all `nodes` of an operation: each costs several times as much as a row of a list. */
const MAX_IDS = 5000;

/** An operation of a valid document. */
interface CheckedOperation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

/** Reads the texts of operations for all paths, within their limits. */
export class OperationTexts {
  readonly #limits: OperationLimits & DocumentLimits;
  readonly #access: SchemaAccess;
  /** Documents that ask for the schema, if only callers whose own key was accepted may have the answer. */
  readonly withheld = new WeakSet<DocumentNode>();
  readonly #inputs = new WeakMap<DocumentNode, InputPlan>();

  /** `access`: who may ask for the schema. */
  constructor(limits: OperationLimits, access: SchemaAccess) {
    // Each level can have a fragment around it, and one inside that narrows the type.
    this.#limits = { ...limits, maxNesting: Math.min(3 * limits.maxDepth + 20, MAX_NESTING) };
    this.#access = access;
  }

  /**
   * Parses a text, with all limits that need neither a schema nor variables, so that a refusal costs no validation.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE`, BadUserInput or GraphQLError.
   */
  parse(source: string, options: ParseOptions = {}): DocumentNode {
    checkText(source, this.#limits);
    const noLocation =
      options.noLocation || source.split(/\r\n|[\r\n]/, MAX_LINES + 1).length > MAX_LINES;
    const document = parse(source, { ...options, noLocation });
    const { introspection, subscription } = measureDocument(document, this.#limits);
    if (subscription) throw invalid(`Subscriptions are not supported. ${ASK_LIVE}`, subscription);
    if (introspection && this.#access === 'none') {
      // One error, where the library's rule has one per introspection field.
      throw invalid(SCHEMA_WITHHELD, introspection);
    }
    if (introspection && this.#access === 'accepted') this.withheld.add(document);
    return document;
  }

  /**
   * Limits what depends on variables, by those of a request, as they came: the size of each input, and the rows.
   * @throws BadUserInput `BAD_USER_INPUT` for input that is out of proportion.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for too many rows or ids.
   */
  check(
    { schema, document, operation }: CheckedOperation,
    variables: Readonly<Record<string, unknown>>,
  ): void {
    const input = this.#inputs.get(document) ?? planInput(schema, document);
    this.#inputs.set(document, input);
    if (input.fault) throw input.fault;
    checkVariables(schema, operation, variables, input);
    const { rows, ids } = countRows(schema, document, operation, variables);
    const { maxNodes } = this.#limits;
    if (rows > maxNodes) {
      throw tooExpensive(
        `The operation requests up to ${rows} items, multiplied over all levels; the limit is ${maxNodes}. Lower "first" or "last", request fewer "ids", or split the operation.`,
      );
    }
    if (ids > MAX_IDS) {
      throw tooExpensive(
        `The operation requests ${ids} ids; the limit is ${MAX_IDS}. Split the operation.`,
      );
    }
  }
}

/**
 * Refuses a text that would take long to check or to answer, with `OPERATION_TOO_EXPENSIVE`, and one
 * that asks for the schema where that is not published. Complaints about a text suggest nothing unless all callers may
 * have the schema: a text is checked before it is known whether its sender's own key is accepted.
 * All of it is done with the parsing, so that a refusal costs no validation, and a text in Yoga's cache of parsed
 * documents is not checked again. What depends on variables is checked before the execution.
 */
export function useOperationLimits(
  texts: OperationTexts,
  { schemaAccess }: { readonly schemaAccess: SchemaAccess },
): GatewayPlugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((source: string, options: object) => texts.parse(source, options));
    },
    onValidate({ addValidationRule, setValidationFn }) {
      addValidationRule(idempotentFieldsRule);
      if (schemaAccess === 'all') return;
      setValidationFn((schema, document, rules) =>
        validate(schema, document, rules, { hideSuggestions: true }),
      );
    },
  };
}
