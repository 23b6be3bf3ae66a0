import {
  type ASTVisitor,
  type DocumentNode,
  ExecutableDefinitionsRule,
  FragmentsOnCompositeTypesRule,
  type GraphQLSchema,
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
import type { DocumentMeasures } from './document-measures.ts';
import type { DocumentTraits } from './document-traits.ts';
import { inParallel } from './in-parallel.ts';

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
  [SingleFieldSubscriptionsRule, ({ traits }) => !traits.subscriptions],
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

/** Thrown at the first complaint: what is wrong with a document is for Yoga to say. */
const NOT_VALID = Symbol('not valid');

/**
 * Whether a document is valid by GraphQL's rules, found out on one walk on which `others` are taken along. What they
 * note is of use only where it is.
 */
export function isValid(
  schema: GraphQLSchema,
  candidate: Candidate,
  others: (types: TypeInfo) => readonly ASTVisitor[],
): boolean {
  const { document } = candidate;
  const types = new TypeInfo(schema);
  const context = new ValidationContext(schema, document, types, () => {
    throw NOT_VALID;
  });
  const rules = specifiedRules.filter((rule) => idle.get(rule)?.(candidate) !== true);
  const visitors = [...rules.map((rule) => rule(context)), ...others(types)];
  try {
    visit(document, visitWithTypeInfo(types, inParallel(visitors)));
    return true;
  } catch (error) {
    if (error === NOT_VALID) return false;
    throw error;
  }
}
