import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
  OperationTypeNode,
  type ParseOptions,
  parse,
} from 'graphql';
import type { ReadQuery, ReadText } from '../../answers/compiled/read-text.ts';
import type { OperationLimits } from '../../config/config.ts';
import { withoutSuggestion } from '../mask-error.ts';
import type { GatewayPlugin } from '../request-record.ts';
import {
  type DocumentLimits,
  type DocumentMeasures,
  measureDocument,
} from './document-measures.ts';
import { checkVariables, type InputPlan, planInput } from './input.ts';
import { type AskedFor, countRows } from './rows.ts';
import { checkText, hasMoreLines, tooExpensive } from './text.ts';
import { examine, type Findings, noSecretIn } from './validity.ts';

/** Ids that all `nodes` of an operation may have: finding one costs several times what a row of a list does. */
const MAX_IDS = 5000;

/** What is found out once of a document that is remembered. */
interface DocumentPlan {
  readonly input: InputPlan;
  /** The most that an operation can ask for, whatever its variables are. */
  readonly most: Map<OperationDefinitionNode, AskedFor>;
}

/** An operation of a valid document. */
interface ValidOperation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

/** The limits that depend on variables: the size of each input, and the rows that are asked for. */
export class InputLimits {
  readonly #maxNodes: number;
  readonly #plans = new WeakMap<DocumentNode, DocumentPlan>();

  /** `maxNodes` rows may be asked for, multiplied down the selection. */
  constructor(maxNodes: number) {
    this.#maxNodes = maxNodes;
  }

  /**
   * Checks an operation with the variables of a request, as they came.
   * @throws BadUserInput `BAD_USER_INPUT` for input that is out of proportion.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE` for too many rows or ids.
   */
  check(
    { schema, document, operation }: ValidOperation,
    variables: Readonly<Record<string, unknown>>,
  ): void {
    const plan = this.#plans.get(document) ?? this.learn(document, planInput(schema, document));
    if (plan.input.fault) throw plan.input.fault;
    checkVariables(schema, operation, variables, plan.input);
    const most = plan.most.get(operation) ?? countRows(schema, document, operation, null);
    plan.most.set(operation, most);
    if (most.rows <= this.#maxNodes && most.ids <= MAX_IDS) return;
    checkRows(countRows(schema, document, operation, variables), this.#maxNodes);
  }

  /** Takes what was found out of a document on another walk. */
  learn(document: DocumentNode, input: InputPlan): DocumentPlan {
    const plan: DocumentPlan = { input, most: new Map() };
    this.#plans.set(document, plan);
    return plan;
  }
}

function checkRows({ rows, ids }: AskedFor, maxNodes: number): void {
  if (rows > maxNodes) {
    throw tooExpensive(
      `The operation asks for ${rows} rows, multiplied down the selection, and at most ${maxNodes} are allowed. Ask for fewer with "first", "last" or "ids", or in several operations.`,
    );
  }
  if (ids > MAX_IDS) {
    throw tooExpensive(
      `The operation looks for ${ids} ids, and at most ${MAX_IDS} are allowed. Look for them in several operations.`,
    );
  }
}

/** What a caller reads who may not ask for the schema. */
export const SCHEMA_WITHHELD =
  'This gateway does not publish its schema. INTROSPECTION=true allows it.';

/** How deep selections may ever stand inside one another: parsers call themselves for each. */
const MAX_NESTING = 1000;
/** Lines of a text in which errors have locations: to find the line, all before it are counted. */
const MAX_LINES = 300;

/** Reads the texts of operations for all paths: parses them within their limits, and finds out what they are. */
export class OperationTexts {
  readonly input: InputLimits;
  readonly #schema: GraphQLSchema;
  readonly #limits: OperationLimits & DocumentLimits;
  readonly #introspection: boolean;
  /** What is known of documents that were parsed, until it is asked whether they are valid, */
  readonly #parsed = new WeakMap<DocumentNode, DocumentMeasures>();
  /** ... and of those that are. */
  readonly #findings = new WeakMap<DocumentNode, Findings>();

  /** `introspection`: whether the schema may be asked for. */
  constructor(schema: GraphQLSchema, limits: OperationLimits, introspection: boolean) {
    this.#schema = schema;
    // Each level can have a fragment around it, and one inside that narrows the type.
    this.#limits = { ...limits, maxNesting: Math.min(3 * limits.maxDepth + 20, MAX_NESTING) };
    this.#introspection = introspection;
    this.input = new InputLimits(limits.maxNodes);
  }

  /**
   * Parses a text, with all limits that need neither a schema nor variables, so that a refusal costs no validation.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE`, BadUserInput or GraphQLError.
   */
  parse(source: string, options: ParseOptions = {}): DocumentNode {
    checkText(source, this.#limits);
    const noLocation = options.noLocation || hasMoreLines(source, MAX_LINES);
    const document = parse(source, { ...options, noLocation });
    const measures = measureDocument(document, this.#limits);
    const { introspection } = measures.traits;
    if (introspection && !this.#introspection) throw withheld(introspection);
    this.#parsed.set(document, measures);
    return document;
  }

  /** Reads the text of an operation that is wanted by its name; `null` where Yoga is to say what is wrong. */
  read(text: string, operationName: string | null, options?: ParseOptions): ReadText | null {
    try {
      const document = this.parse(text, options);
      const hasNone = this.isValid(document) && !this.#findings.get(document)?.hasSecrets;
      return { document, query: hasNone ? this.#queryOf(document, operationName) : null };
    } catch {
      // Whatever it is, Yoga comes upon it too, and answers with it.
      return null;
    }
  }

  /**
   * Whether a document that was parsed here is valid, found out once. One that is not may be: there are more
   * rules for other directives, and other ways to answer.
   */
  isValid(document: DocumentNode): boolean {
    const measures = this.#parsed.get(document);
    if (measures) {
      this.#parsed.delete(document);
      const found = measures.traits.otherDirectives
        ? null
        : examine(this.#schema, { ...measures, document });
      if (found) {
        this.#findings.set(document, found);
        this.input.learn(document, found.input);
        if (!found.hasSecrets) noSecretIn(document);
      }
    }
    return this.#findings.has(document);
  }

  #queryOf(document: DocumentNode, operationName: string | null): ReadQuery | null {
    const operation = getOperationAST(document, operationName);
    if (operation?.operation !== OperationTypeNode.QUERY) return null;
    const query = { schema: this.#schema, document, operation };
    return { ...query, check: (variables) => this.input.check(query, variables) };
  }
}

/** One complaint, where the library's rule has one for each field that asks for the schema. */
function withheld(field: FieldNode): GraphQLError {
  return new GraphQLError(SCHEMA_WITHHELD, {
    nodes: [field],
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400, spec: true } },
  });
}

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
