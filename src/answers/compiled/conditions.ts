import {
  type ArgumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type ValueNode,
} from 'graphql';
import { NOT_CACHED } from '../../upstream/reader.ts';
import type { Variables } from './selection-plan.ts';

/** Variables that selections may depend on: for each set of their values there is another plan. */
const MOST_CONDITIONS = 3;

/** The fragments of a document by their names. */
export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/**
 * The variables on which the selections of an operation depend. What its document holds besides has no say: there
 * a variable of the same name can be of any type.
 * @throws NOT_CACHED for too many of them, and for any directive that is not known here.
 */
export function conditionsOf(operation: OperationDefinitionNode, fragments: Fragments): string[] {
  const names = new Set<string>();
  eachReached([operation], fragments, ({ directives = [] }) => {
    for (const { name, arguments: given = [] } of directives) {
      if (name.value !== 'skip' && name.value !== 'include') throw NOT_CACHED;
      for (const { value } of given) {
        if (value.kind === Kind.VARIABLE) names.add(value.name.value);
      }
    }
    return false;
  });
  for (const { directives = [] } of operation.variableDefinitions ?? []) {
    if (directives.length > 0) throw NOT_CACHED;
  }
  if (names.size > MOST_CONDITIONS) throw NOT_CACHED;
  return [...names];
}

/**
 * The values of conditions as a few letters, one each.
 * @throws NOT_CACHED for one that is no boolean, with which no selection is valid.
 */
export function conditionKey(conditions: readonly string[], variables: Variables): string {
  let key = '';
  for (const name of conditions) {
    const value = variables[name];
    if (typeof value !== 'boolean') throw NOT_CACHED;
    key += value ? 'y' : 'n';
  }
  return key;
}

/** Whether some fields are others with other variables, by themselves or by the fragments that they spread. */
export function dependsOnVariables(nodes: readonly FieldNode[], fragments: Fragments): boolean {
  return eachReached(nodes, fragments, (node) => {
    if (node.kind === Kind.FIELD && hasVariables(node.arguments)) return true;
    return node.directives?.some((directive) => hasVariables(directive.arguments)) ?? false;
  });
}

/** Whether there is a variable in the values of some arguments. */
export function hasVariables(given: readonly ArgumentNode[] = []): boolean {
  return given.some(({ value }) => isVariable(value));
}

function isVariable(value: ValueNode): boolean {
  if (value.kind === Kind.LIST) return value.values.some(isVariable);
  if (value.kind === Kind.OBJECT) return value.fields.some((field) => isVariable(field.value));
  return value.kind === Kind.VARIABLE;
}

/** What has a selection or directives. */
type Selecting = OperationDefinitionNode | FragmentDefinitionNode | SelectionNode;

/**
 * Looks at some nodes and all selections below, and once each at the fragments that they spread, until `look` says
 * that this is enough. Whether it did.
 */
function eachReached(
  nodes: readonly Selecting[],
  fragments: Fragments,
  look: (node: Selecting) => boolean,
): boolean {
  const reached = new Set<Selecting>(nodes);
  const below = (node: Selecting): boolean => {
    if (look(node)) return true;
    if (node.kind === Kind.FRAGMENT_SPREAD) {
      const fragment = fragments[node.name.value];
      if (fragment) reached.add(fragment);
      return false;
    }
    return node.selectionSet?.selections.some(below) ?? false;
  };
  // A set goes on to what is added to it meanwhile.
  for (const node of reached) if (below(node)) return true;
  return false;
}
