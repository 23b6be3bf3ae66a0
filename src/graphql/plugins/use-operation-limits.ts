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
  parse,
  type ValidationContext,
  visit,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { checkFields } from '../limits/fields.ts';
import type { InputLimits } from '../limits/input-limits.ts';
import { checkText, hasMoreLines, tooExpensive } from '../limits/text.ts';

/** How large an operation may be: its text, fragments counted wherever they are used, and its answer. */
export interface OperationLimits {
  readonly maxTokens: number;
  /** Selections inside one another. */
  readonly maxDepth: number;
  readonly maxAliases: number;
  readonly maxDirectives: number;
  readonly maxFields: number;
  /** Rows asked for, multiplied down the selection. */
  readonly maxNodes: number;
}

interface Rule {
  readonly OperationDefinition: Readonly<Record<string, unknown>>;
}

/** How deep selections may ever stand inside one another: parsers call themselves for each. */
const MAX_NESTING = 1000;
/** Lines of a text in which errors tell where they are: to find the line, all before it are counted. */
const MAX_LINES = 300;

/**
 * Refuses a text that would take long to check or to answer, with `OPERATION_TOO_EXPENSIVE`, and one
 * that asks for the schema where that is not told. All of it is done with the parsing, so that a
 * refusal costs no validation, and a text in Yoga's cache of parsed documents is not checked again. What
 * depends on variables, the rows asked for and the size of each input, is checked before the execution.
 */
export function useOperationLimits(
  limits: OperationLimits,
  options: { readonly introspection: boolean; readonly input: InputLimits },
): Plugin {
  const { maxAliases, maxDepth, maxDirectives, maxFields, maxTokens } = limits;
  // Each level can have a fragment around it, and one inside that narrows the type.
  const maxNesting = Math.min(3 * maxDepth + 20, MAX_NESTING);
  const onReject = [
    (_: unknown, { message }: GraphQLError): never => {
      throw tooExpensive(message.replace(/^Syntax Error: /, ''));
    },
  ];
  const rules = [
    maxDepthRule({ n: maxDepth, flattenFragments: true, onReject }),
    maxAliasesRule({ n: maxAliases, onReject }),
    maxDirectivesRule({ n: maxDirectives, onReject }),
  ];
  return {
    onParse({ setParseFn }) {
      setParseFn((source: string, parseOptions: object) => {
        checkText(source, { maxTokens, maxNesting });
        const noLocation = hasMoreLines(source, MAX_LINES);
        const document = parse(source, { ...parseOptions, noLocation });
        checkFields(document, { maxFields, maxNesting });
        for (const rule of rules) apply(rule, document);
        if (!options.introspection) refuseIntrospection(document);
        return document;
      });
    },
    onExecute({ args }) {
      const document = args.document as DocumentNode;
      const schema = args.schema as GraphQLSchema;
      const operation = getOperationAST(document, args.operationName);
      if (!operation) return;
      const variables = (args.variableValues ?? {}) as Readonly<Record<string, unknown>>;
      options.input.check({ schema, document, operation }, variables);
    },
  };
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
      throw new GraphQLError(
        'This gateway does not tell its schema. INTROSPECTION=true allows it.',
        {
          nodes: [node],
          extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400, spec: true } },
        },
      );
    },
  });
}
