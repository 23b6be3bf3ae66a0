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
import { type DocumentLimits, measureDocument } from './document-measures.ts';
import { type InputPlan, inputVisitor } from './input.ts';
import { InputLimits } from './input-limits.ts';
import { isSecret, noSecretIn } from './secrets.ts';
import { checkText, hasMoreLines } from './text.ts';
import { type Candidate, isValid } from './validity.ts';

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
  /** What was found out of documents that were parsed. */
  readonly #parsed = new WeakMap<DocumentNode, Omit<Candidate, 'document'>>();

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
      return this.#readValid(this.parse(text, options), operationName);
    } catch {
      // Whatever it is, Yoga comes upon it too, and answers with it.
      return null;
    }
  }

  #readValid(document: DocumentNode, operationName: string | null): ReadText | null {
    const found = this.#parsed.get(document);
    if (!found) return null;
    // There are more rules for other directives, and other ways to answer.
    if (found.traits.otherDirectives) return { document, isValid: false, query: null };
    const valid = this.#validate({ ...found, document });
    if (!valid) return { document, isValid: false, query: null };
    const query = valid.hasSecrets ? null : this.#queryOf(document, operationName);
    return { document, isValid: true, query };
  }

  /** What a walk over a document finds; `null` where it is not valid. */
  #validate(candidate: Candidate): { readonly hasSecrets: boolean } | null {
    const { document } = candidate;
    let hasSecrets = false;
    let plan: (() => InputPlan) | null = null;
    const valid = isValid(this.#schema, candidate, (types) => {
      const input = inputVisitor(types);
      plan = input.plan;
      const secrets = {
        Field: () => {
          hasSecrets ||= isSecret(types);
        },
      };
      return [input.visitor, secrets];
    });
    if (!valid) return null;
    this.input.learn(document, (plan as unknown as () => InputPlan)());
    if (!hasSecrets) noSecretIn(document);
    return { hasSecrets };
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
