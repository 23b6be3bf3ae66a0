import { type FieldNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Fields of a selection that are compared with one another: to collect more by their names is faster. */
const FEW = 16;

/**
 * Counts the pairs of fields with the same response name in a selection and below it, with fragments expanded. The
 * number of fields must be low, and no fragment may contain itself.
 */
export function countPairs(set: SelectionSetNode, fragments: Fragments): number {
  if (!isDistinct(set)) return countMergedPairs([set], fragments);
  let pairs = 0;
  for (const field of set.selections as readonly FieldNode[]) {
    if (field.selectionSet) pairs += countPairs(field.selectionSet, fragments);
  }
  return pairs;
}

/** Whether a selection has few fields with distinct response names, as most do. */
function isDistinct({ selections }: SelectionSetNode): boolean {
  if (selections.length > FEW) return false;
  for (const [index, node] of selections.entries()) {
    if (node.kind !== Kind.FIELD) return false;
    for (let other = 0; other < index; other += 1) {
      if (keyOf(selections[other] as FieldNode) === keyOf(node)) return false;
    }
  }
  return true;
}

/** In selections that are merged in the response. */
function countMergedPairs(sets: readonly SelectionSetNode[], fragments: Fragments): number {
  const fields = new Map<string, FieldNode[]>();
  for (const set of sets) collect(set, fragments, fields);
  let pairs = 0;
  for (const same of fields.values()) {
    pairs += (same.length * (same.length - 1)) / 2;
    const below = same.flatMap(({ selectionSet }) => selectionSet ?? []);
    const [first] = below;
    if (below.length > 1) pairs += countMergedPairs(below, fragments);
    else if (first) pairs += countPairs(first, fragments);
  }
  return pairs;
}

function collect(
  { selections }: SelectionSetNode,
  fragments: Fragments,
  fields: Map<string, FieldNode[]>,
): void {
  for (const node of selections) {
    if (node.kind === Kind.FIELD) {
      const key = keyOf(node);
      const same = fields.get(key);
      if (same) same.push(node);
      else fields.set(key, [node]);
      continue;
    }
    const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
    if (fragment) collect(fragment.selectionSet, fragments, fields);
  }
}

function keyOf({ alias, name }: FieldNode): string {
  return alias ? alias.value : name.value;
}
