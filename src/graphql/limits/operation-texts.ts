import { maxAliasesRule } from '@escape.tech/graphql-armor-max-aliases';
import { maxDepthRule } from '@escape.tech/graphql-armor-max-depth';
import { maxDirectivesRule } from '@escape.tech/graphql-armor-max-directives';
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  OperationTypeNode,
  type ParseOptions,
  parse,
  type ValidationContext,
  visit,
} from 'graphql';
import type { ReadQuery, ReadText } from '../../answers/read-text.ts';
import type { OperationLimits } from '../../config/config.ts';
import { traitsOf } from './document-traits.ts';
import { checkFields } from './fields.ts';
import { type InputPlan, inputVisitor } from './input.ts';
import { InputLimits } from './input-limits.ts';
import { isSecret, noSecretIn } from './secrets.ts';
import { checkText, hasMoreLines, tooExpensive } from './text.ts';
import { type Candidate, isValid } from './validity.ts';

/** What a caller reads who may not ask for the schema. */
export const SCHEMA_WITHHELD =
  'This gateway does not publish its schema. INTROSPECTION=true allows it.';

interface Rule {
  readonly OperationDefinition: Readonly<Record<string, unknown>>;
}

/** How deep selections may ever stand inside one another: parsers call themselves for each. */
const MAX_NESTING = 1000;
/** Lines of a text in which errors have locations: to find the line, all before it are counted. */
const MAX_LINES = 300;

/** Reads the texts of operations for all paths: parses them within their limits, and finds out what they are. */
export class OperationTexts {
  readonly input: InputLimits;
  readonly #schema: GraphQLSchema;
  readonly #limits: OperationLimits & { readonly maxNesting: number };
  readonly #introspection: boolean;
  readonly #rules: readonly ((context: ValidationContext) => object)[];
  /** What was found out of documents that were parsed. */
  readonly #parsed = new WeakMap<DocumentNode, Omit<Candidate, 'document'>>();

  /** `introspection`: whether the schema may be asked for. */
  constructor(schema: GraphQLSchema, limits: OperationLimits, introspection: boolean) {
    const { maxAliases, maxDepth, maxDirectives } = limits;
    this.#schema = schema;
    // Each level can have a fragment around it, and one inside that narrows the type.
    this.#limits = { ...limits, maxNesting: Math.min(3 * maxDepth + 20, MAX_NESTING) };
    this.#introspection = introspection;
    this.input = new InputLimits(limits.maxNodes);
    const onReject = [
      (_: unknown, { message }: GraphQLError): never => {
        throw tooExpensive(message.replace(/^Syntax Error: /, ''));
      },
    ];
    this.#rules = [
      maxDepthRule({ n: maxDepth, flattenFragments: true, onReject }),
      maxAliasesRule({ n: maxAliases, onReject }),
      maxDirectivesRule({ n: maxDirectives, onReject }),
    ];
  }

  /**
   * Parses a text, with all limits that need neither a schema nor variables, so that a refusal costs no validation.
   * @throws GatewayError `OPERATION_TOO_EXPENSIVE`, BadUserInput or GraphQLError.
   */
  parse(source: string, options: ParseOptions = {}): DocumentNode {
    const { maxFields, maxNesting } = this.#limits;
    checkText(source, this.#limits);
    const noLocation = options.noLocation || hasMoreLines(source, MAX_LINES);
    const document = parse(source, { ...options, noLocation });
    const pairs = checkFields(document, { maxFields, maxNesting });
    for (const rule of this.#rules) apply(rule, document);
    const traits = traitsOf(document);
    if (traits.introspection && !this.#introspection) refuseIntrospection(document);
    this.#parsed.set(document, { pairs, traits });
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

/** Runs a validation rule of the library on its own: all it wants to know are the fragments. */
function apply(rule: (context: ValidationContext) => object, document: DocumentNode): void {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition);
    }
  }
  const context = { getFragment: (name: string) => fragments.get(name) } as ValidationContext;
  const visitor = rule(context) as Rule;
  const enter = visitor.OperationDefinition['enter'] as (operation: object) => void;
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) enter.call(visitor, definition);
  }
}

/** One complaint at the first such field, where the library's rule has one for each of them. */
function refuseIntrospection(document: DocumentNode): void {
  visit(document, {
    Field(node) {
      const { value } = node.name;
      if (value !== '__schema' && value !== '__type') return;
      throw new GraphQLError(SCHEMA_WITHHELD, {
        nodes: [node],
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400, spec: true } },
      });
    },
  });
}
