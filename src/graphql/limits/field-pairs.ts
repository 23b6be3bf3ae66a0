import { type FieldNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';

type FragmentsByName = ReadonlyMap<string, FragmentDefinitionNode>;

/**
 * Counts the pairs of fields with the same response name in selections that are merged in the response, and below
 * them, with fragments expanded. The number of fields must be low, and no fragment may contain itself.
 */
export function countPairs(sets: readonly SelectionSetNode[], fragments: FragmentsByName): number {
  const fields = new Map<string, FieldNode[]>();
  for (const set of sets) collect(set, fragments, fields);
  let pairs = 0;
  for (const same of fields.values()) {
    pairs += (same.length * (same.length - 1)) / 2;
    const below = same.flatMap(({ selectionSet }) => selectionSet ?? []);
    if (below.length > 0) pairs += countPairs(below, fragments);
  }
  return pairs;
}

function collect(
  { selections }: SelectionSetNode,
  fragments: FragmentsByName,
  fields: Map<string, FieldNode[]>,
): void {
  for (const node of selections) {
    if (node.kind === Kind.FIELD) {
      const key = node.alias?.value ?? node.name.value;
      const same = fields.get(key);
      if (same) same.push(node);
      else fields.set(key, [node]);
      continue;
    }
    const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
    if (fragment) collect(fragment.selectionSet, fragments, fields);
  }
}
