import { maxAliasesRule } from '@escape.tech/graphql-armor-max-aliases';
import { maxDepthRule } from '@escape.tech/graphql-armor-max-depth';
import { maxDirectivesRule } from '@escape.tech/graphql-armor-max-directives';
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  parse,
  type ValidationContext,
  visit,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../../errors.ts';

/** How large the text of an operation may be, fragments counted wherever they are used. */
export interface OperationLimits {
  readonly maxTokens: number;
  /** Selections inside one another. */
  readonly maxDepth: number;
  readonly maxAliases: number;
  readonly maxDirectives: number;
}

interface Rule {
  readonly OperationDefinition: Readonly<Record<string, unknown>>;
}

/**
 * Refuses a text that would take long to check or to answer, with `OPERATION_TOO_EXPENSIVE`, and one
 * that asks for the schema where that is not told. All of it is done with the parsing, so that a
 * refusal costs no validation, and a text in Yoga's cache of parsed documents is not checked again.
 */
export function useOperationLimits(
  limits: OperationLimits,
  options: { readonly introspection: boolean },
): Plugin {
  const { maxTokens, maxDepth, maxAliases, maxDirectives } = limits;
  const onReject = [(_: unknown, { message }: GraphQLError): never => tooExpensive(message)];
  const rules = [
    maxDepthRule({ n: maxDepth, flattenFragments: true, onReject }),
    maxAliasesRule({ n: maxAliases, onReject }),
    maxDirectivesRule({ n: maxDirectives, onReject }),
  ];
  return {
    onParse({ setParseFn }) {
      setParseFn((source: string, parseOptions: object) => {
        const document = parseUpTo(maxTokens, source, parseOptions);
        for (const rule of rules) apply(rule, document);
        if (!options.introspection) refuseIntrospection(document);
        return document;
      });
    },
  };
}

/**
 * By GraphQL's own count: the one that comes with the other rules takes several times as long. A text
 * that can have too many is counted before, since a refusal must not cost half a parse.
 */
function parseUpTo(maxTokens: number, source: string, options: object): DocumentNode {
  if (source.length > maxTokens && countTokens(source, maxTokens) > maxTokens) {
    tooExpensive(`Token limit of ${maxTokens} exceeded.`);
  }
  try {
    return parse(source, { ...options, maxTokens });
  } catch (error) {
    if (error instanceof GraphQLError && error.message.endsWith('Parsing aborted.')) {
      tooExpensive(`Token limit of ${maxTokens} exceeded.`);
    }
    throw error;
  }
}

/** Comments, strings, numbers, names and signs of GraphQL; all but comments are tokens. */
const LEXEMES =
  /#[^\n\r]*|"""(?:\\"""|[^])*?"""|"(?:\\.|[^"\\\n\r])*"|-?\d[\d.eE+-]*|\w+|\.\.\.|[!$&()[\]{}:=@|]/g;

/** Counts the tokens of a text, up to one more than `most`. */
function countTokens(source: string, most: number): number {
  let count = 0;
  for (const [lexeme] of source.matchAll(LEXEMES)) {
    if (!lexeme.startsWith('#')) count += 1;
    if (count > most) break;
  }
  return count;
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

function tooExpensive(message: string): never {
  throw new GatewayError('OPERATION_TOO_EXPENSIVE', message.replace(/^Syntax Error: /, ''));
}
