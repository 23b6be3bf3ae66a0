import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  OperationTypeNode,
  type ParseOptions,
  parse,
} from 'graphql';
import type { ReadQuery, ReadText } from '../../answers/compiled/read-text.ts';
import type { OperationLimits } from '../../config/config.ts';
import {
  type DocumentLimits,
  type DocumentMeasures,
  measureDocument,
} from './document-measures.ts';
import { InputLimits } from './input-limits.ts';
import { noSecretIn } from './secrets.ts';
import { checkText, hasMoreLines } from './text.ts';
import { examine, type Findings } from './validity.ts';

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
