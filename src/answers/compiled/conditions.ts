import {
  type ASTNode,
  type ASTVisitor,
  BREAK,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql';
import { NOT_AT_HAND } from '../../upstream/at-hand-client.ts';
import type { Variables } from './selection-plan.ts';

/** Variables that selections may depend on: for each set of their values there is another plan. */
const MOST_CONDITIONS = 3;

/** The fragments of a document by their names. */
export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/**
 * The variables on which the selections of an operation depend. What its document holds besides has no say: there
 * a variable of the same name can be of any type.
 * @throws NOT_AT_HAND for too many of them, and for any directive that is not known here.
 */
export function conditionsOf(operation: OperationDefinitionNode, fragments: Fragments): string[] {
  const names = new Set<string>();
  visitReached([operation], fragments, {
    Directive({ name, arguments: given = [] }) {
      if (name.value !== 'skip' && name.value !== 'include') throw NOT_AT_HAND;
      for (const { value } of given) {
        if (value.kind === Kind.VARIABLE) names.add(value.name.value);
      }
    },
  });
  if (names.size > MOST_CONDITIONS) throw NOT_AT_HAND;
  return [...names];
}

/**
 * The values of conditions as a few letters, one each.
 * @throws NOT_AT_HAND for one that is no boolean, with which no selection is valid.
 */
export function conditionKey(conditions: readonly string[], variables: Variables): string {
  let key = '';
  for (const name of conditions) {
    const value = variables[name];
    if (typeof value !== 'boolean') throw NOT_AT_HAND;
    key += value ? 'y' : 'n';
  }
  return key;
}

/** Whether some nodes are others with other variables, by themselves or, where these are given, by fragments. */
export function dependsOnVariables(
  nodes: readonly ASTNode[] = [],
  fragments: Fragments = {},
): boolean {
  let depends = false;
  visitReached(nodes, fragments, {
    Variable() {
      depends = true;
      return BREAK;
    },
  });
  return depends;
}

/** Visits nodes, and once each the fragments that they spread. */
function visitReached(nodes: readonly ASTNode[], fragments: Fragments, visitor: ASTVisitor): void {
  const reached = new Set<ASTNode>(nodes);
  const spreading: ASTVisitor = {
    ...visitor,
    FragmentSpread({ name }) {
      const fragment = fragments[name.value];
      if (fragment) reached.add(fragment);
    },
  };
  // A set goes on to what is added to it meanwhile.
  for (const node of reached) visit(node, spreading);
}
