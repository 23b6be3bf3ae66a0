import {
  type ASTNode,
  type ASTVisitor,
  BREAK,
  type DocumentNode,
  ExecutableDefinitionsRule,
  type FragmentDefinitionNode,
  FragmentsOnCompositeTypesRule,
  type GraphQLSchema,
  getEnterLeaveForKind,
  Kind,
  KnownArgumentNamesRule,
  KnownDirectivesRule,
  KnownFragmentNamesRule,
  KnownTypeNamesRule,
  LoneAnonymousOperationRule,
  MaxIntrospectionDepthRule,
  NoFragmentCyclesRule,
  NoUndefinedVariablesRule,
  NoUnusedFragmentsRule,
  NoUnusedVariablesRule,
  type OperationDefinitionNode,
  OverlappingFieldsCanBeMergedRule,
  PossibleFragmentSpreadsRule,
  SingleFieldSubscriptionsRule,
  specifiedRules,
  TypeInfo,
  UniqueArgumentNamesRule,
  UniqueDirectivesPerLocationRule,
  UniqueFragmentNamesRule,
  UniqueInputFieldNamesRule,
  UniqueOperationNamesRule,
  UniqueVariableNamesRule,
  ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
  VariablesAreInputTypesRule,
  VariablesInAllowedPositionRule,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { DocumentMeasures, DocumentTraits } from './document-measures.ts';
import { type InputPlan, inputVisitor } from './input.ts';

/** A document that may be valid, and what is known of it. */
export interface Candidate extends DocumentMeasures {
  readonly document: DocumentNode;
}

/**
 * Rules of GraphQL that have nothing to complain about in some documents, and of which: to run them all takes
 * most of the time. A rule that is not listed is always run.
 */
const idle = new Map<ValidationRule, (candidate: Candidate) => boolean>([
  [ExecutableDefinitionsRule, ({ traits }) => !traits.others],
  [UniqueOperationNamesRule, ({ traits }) => traits.operations < 2],
  [LoneAnonymousOperationRule, ({ traits }) => traits.operations < 2],
  [SingleFieldSubscriptionsRule, ({ traits }) => !traits.subscription],
  [MaxIntrospectionDepthRule, ({ traits }) => !traits.introspection],
  [UniqueFragmentNamesRule, ({ traits }) => traits.fragments === 0],
  [NoUnusedFragmentsRule, ({ traits }) => traits.fragments === 0],
  [NoFragmentCyclesRule, ({ traits }) => traits.fragments === 0],
  [KnownFragmentNamesRule, ({ traits }) => !traits.spreads],
  [PossibleFragmentSpreadsRule, ({ traits }) => !traits.spreads && !traits.inlineFragments],
  [FragmentsOnCompositeTypesRule, ({ traits }) => !namesTypes(traits)],
  [KnownTypeNamesRule, ({ traits }) => !namesTypes(traits) && !traits.variableDefinitions],
  [VariablesAreInputTypesRule, ({ traits }) => !traits.variableDefinitions],
  [UniqueVariableNamesRule, ({ traits }) => !traits.variableDefinitions],
  [NoUnusedVariablesRule, ({ traits }) => !traits.variableDefinitions],
  [NoUndefinedVariablesRule, ({ traits }) => !traits.variables],
  [VariablesInAllowedPositionRule, ({ traits }) => !traits.variables],
  [KnownDirectivesRule, ({ traits }) => !traits.directives],
  [UniqueDirectivesPerLocationRule, ({ traits }) => !traits.directives],
  [KnownArgumentNamesRule, ({ traits }) => !traits.arguments],
  [UniqueArgumentNamesRule, ({ traits }) => !traits.arguments],
  [ValuesOfCorrectTypeRule, ({ traits }) => !traits.arguments && !traits.variableDefinitions],
  [UniqueInputFieldNamesRule, ({ traits }) => !traits.objects],
  [OverlappingFieldsCanBeMergedRule, ({ pairs }) => pairs === 0],
]);

function namesTypes({ fragments, inlineFragments }: DocumentTraits): boolean {
  return fragments > 0 || inlineFragments;
}

/** Thrown at the first error: Yoga reports the errors of a document. */
const NOT_VALID = Symbol('not valid');

/** What is found out of a valid document on the walk that finds it valid. */
export interface Findings {
  readonly input: InputPlan;
  /** Whether it selects a secret anywhere. */
  readonly hasSecrets: boolean;
}

/** Examines a document in one walk; `null` if it is not valid by the rules of GraphQL. */
export function examine(schema: GraphQLSchema, candidate: Candidate): Findings | null {
  const { document } = candidate;
  const types = new TypeInfo(schema);
  const context = new ValidationContext(schema, document, types, () => {
    throw NOT_VALID;
  });
  const input = inputVisitor(types);
  let hasSecrets = false;
  const secrets: ASTVisitor = {
    Field() {
      hasSecrets ||= isSecret(types);
    },
  };
  const rules = specifiedRules.filter((rule) => idle.get(rule)?.(candidate) !== true);
  const visitors = [...rules.map((rule) => rule(context)), input.visitor, secrets];
  try {
    visit(document, visitWithTypeInfo(types, inParallel(visitors)));
    if (!hasSecrets) noSecretIn(document);
    return { input: input.plan(), hasSecrets };
  } catch (error) {
    if (error === NOT_VALID) return null;
    throw error;
  }
}

/** Whether the field that is visited is a secret: the extensions of the schema say so. */
function isSecret(types: TypeInfo): boolean {
  return types.getFieldDef()?.extensions['secret'] === true;
}

const KINDS: readonly Kind[] = Object.values(Kind);

/** A function of a visitor, which says by `false` to skip what is below, and by `BREAK` to skip all that follows. */
type Visit = (this: unknown, ...args: unknown[]) => unknown;

/** What one visitor does at nodes of one kind. */
interface Step {
  /** The visitor's place. */
  readonly index: number;
  readonly visitor: ASTVisitor;
  readonly enter: Visit | undefined;
  readonly leave: Visit | undefined;
}

/**
 * Combines several visitors that change no node, like GraphQL's `visitInParallel`. That one looks up a function of
 * each visitor for each kind, and calls all for each node: half of the time for a text that is validated once.
 */
function inParallel(visitors: readonly ASTVisitor[]): ASTVisitor {
  const steps = new Map<Kind, Step[]>();
  for (const [index, visitor] of visitors.entries()) {
    for (const kind of kindsOf(visitor)) {
      const { enter, leave } = getEnterLeaveForKind(visitor, kind) as Pick<Step, 'enter' | 'leave'>;
      const step = { index, visitor, enter, leave };
      const others = steps.get(kind);
      if (others) others.push(step);
      else steps.set(kind, [step]);
    }
  }
  /** At which node each visitor skips what is below; `BREAK` for one that is done. */
  const skipping: unknown[] = visitors.map(() => null);
  const merged: Partial<Record<Kind, unknown>> = {};
  for (const [kind, ofKind] of steps) {
    merged[kind] = {
      enter(...args: [ASTNode, ...unknown[]]) {
        for (const { enter, index, visitor } of ofKind) {
          if (!enter || skipping[index] !== null) continue;
          const result = enter.apply(visitor, args);
          if (result === false) skipping[index] = args[0];
          else if (result === BREAK) skipping[index] = BREAK;
        }
      },
      leave(...args: [ASTNode, ...unknown[]]) {
        for (const { index, leave, visitor } of ofKind) {
          if (skipping[index] === args[0]) skipping[index] = null;
          else if (leave && skipping[index] === null && leave.apply(visitor, args) === BREAK) {
            skipping[index] = BREAK;
          }
        }
      },
    };
  }
  return merged as ASTVisitor;
}

/** The kinds of nodes at which a visitor does anything. */
function kindsOf(visitor: ASTVisitor): readonly Kind[] {
  const isOfAll = 'enter' in visitor || 'leave' in visitor;
  return isOfAll ? KINDS : (Object.keys(visitor) as Kind[]);
}

/** Whether an operation selects a secret, once found out. */
const known = new WeakMap<OperationDefinitionNode, boolean>();

/** Notes that no operation of a document selects a secret, which was found out on another walk. */
function noSecretIn({ definitions }: DocumentNode): void {
  for (const definition of definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) known.set(definition, false);
  }
}

/** Whether an operation selects a secret, directly or by fragments; `@skip` and `@include` are ignored. */
export function selectsSecret(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): boolean {
  let found = known.get(operation);
  if (found === undefined) {
    found = finds(schema, document, operation);
    known.set(operation, found);
  }
  return found;
}

function finds(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): boolean {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition);
    }
  }
  let found = false;
  const next: (OperationDefinitionNode | FragmentDefinitionNode)[] = [operation];
  for (let node = next.pop(); node; node = next.pop()) {
    const types = new TypeInfo(schema);
    const visitor = visitWithTypeInfo(types, {
      Field: () => {
        found ||= isSecret(types);
      },
      FragmentSpread: ({ name }) => {
        const fragment = fragments.get(name.value);
        fragments.delete(name.value);
        if (fragment) next.push(fragment);
      },
    });
    visit(node, visitor);
    if (found) return true;
  }
  return false;
}
