import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type NameNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { tooDeep, tooExpensive } from './text.ts';

/** What a selection comes to, fragments counted wherever they are used. */
interface Extent {
  readonly fields: number;
  /** How deep selections stand inside one another. */
  readonly nesting: number;
}

/**
 * Pairs of fields that are answered under one name. Each pair is compared when the text is validated, and
 * its arguments, which takes some microseconds.
 */
const MAX_PAIRS = 10_000;

/**
 * Counts the fields that all operations of a text, and its fragments that none of them uses, come to, and
 * the pairs among them that stand for one field of the answer. Each fragment is counted once, however often
 * it is used, until it is known that the fields are few. Returns the number of those pairs.
 * @throws GatewayError `OPERATION_TOO_EXPENSIVE` with their number.
 * @throws GraphQLError `GRAPHQL_VALIDATION_FAILED` for a fragment that contains itself.
 */
export function checkFields(
  document: DocumentNode,
  limits: { readonly maxFields: number; readonly maxNesting: number },
): number {
  const { maxFields } = limits;
  const count = new FieldCount(document, limits.maxNesting);
  const fields = count.fields();
  if (fields > maxFields) {
    throw tooExpensive(
      `The operation has ${Number.isSafeInteger(fields) ? fields : 'countless'} fields, fragments counted wherever they are used, and at most ${maxFields} are allowed. Select fewer, or ask in several operations.`,
    );
  }
  const pairs = count.pairs();
  if (pairs > MAX_PAIRS) {
    throw tooExpensive(
      `The operation selects the same fields over and over: ${pairs} pairs of them, and at most ${MAX_PAIRS} are compared. Select each field once in one place.`,
    );
  }
  return pairs;
}

class FieldCount {
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  readonly #operations: OperationDefinitionNode[] = [];
  /** `null` while a fragment is being counted. */
  readonly #counted = new Map<string, Extent | null>();
  readonly #unused: FragmentDefinitionNode[] = [];
  readonly #maxNesting: number;

  constructor(document: DocumentNode, maxNesting: number) {
    this.#maxNesting = maxNesting;
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) {
        this.#fragments.set(definition.name.value, definition);
      } else if (definition.kind === Kind.OPERATION_DEFINITION) {
        this.#operations.push(definition);
      }
    }
  }

  fields(): number {
    let fields = 0;
    for (const { selectionSet } of this.#operations) fields += this.#count(selectionSet, 1).fields;
    for (const fragment of this.#fragments.values()) {
      if (this.#counted.has(fragment.name.value)) continue;
      this.#unused.push(fragment);
      fields += this.#countFragment(fragment.name, 1).fields;
    }
    return fields;
  }

  /** To be asked for when the fields are known to be few, and every fragment to end. */
  pairs(): number {
    let pairs = 0;
    for (const { selectionSet } of this.#operations) pairs += this.#pairsIn([selectionSet]);
    for (const { selectionSet } of this.#unused) pairs += this.#pairsIn([selectionSet]);
    return pairs;
  }

  /** `level` is how deep the selection itself stands. */
  #count({ selections }: SelectionSetNode, level: number): Extent {
    if (level > this.#maxNesting) throw tooDeep(this.#maxNesting);
    let fields = 0;
    let nesting = 0;
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) fields += 1;
      const below =
        selection.kind === Kind.FRAGMENT_SPREAD
          ? this.#countFragment(selection.name, level + 1)
          : selection.selectionSet && this.#count(selection.selectionSet, level + 1);
      fields += below?.fields ?? 0;
      nesting = Math.max(nesting, below?.nesting ?? 0);
    }
    if (level + nesting > this.#maxNesting) throw tooDeep(this.#maxNesting);
    return { fields, nesting: nesting + 1 };
  }

  #countFragment(name: NameNode, level: number): Extent {
    const known = this.#counted.get(name.value);
    if (known === null) throw endless(name);
    if (known) return known;
    const fragment = this.#fragments.get(name.value);
    // That there is none is for validation to say.
    if (!fragment) return { fields: 0, nesting: 0 };
    this.#counted.set(name.value, null);
    const extent = this.#count(fragment.selectionSet, level);
    this.#counted.set(name.value, extent);
    return extent;
  }

  /** In selections that are answered as one. */
  #pairsIn(sets: readonly SelectionSetNode[]): number {
    const fields = new Map<string, FieldNode[]>();
    for (const set of sets) this.#collect(set, fields);
    let pairs = 0;
    for (const same of fields.values()) {
      pairs += (same.length * (same.length - 1)) / 2;
      const below = same.flatMap(({ selectionSet }) => selectionSet ?? []);
      if (below.length > 0) pairs += this.#pairsIn(below);
    }
    return pairs;
  }

  #collect({ selections }: SelectionSetNode, fields: Map<string, FieldNode[]>): void {
    for (const node of selections) {
      if (node.kind === Kind.FIELD) {
        const key = node.alias?.value ?? node.name.value;
        const same = fields.get(key);
        if (same) same.push(node);
        else fields.set(key, [node]);
        continue;
      }
      const fragment =
        node.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(node.name.value) : node;
      if (fragment) this.#collect(fragment.selectionSet, fields);
    }
  }
}

/** What validation would say too, after it has compared all that such a fragment comes to. */
function endless({ value, loc }: NameNode): GraphQLError {
  return new GraphQLError(`Cannot spread fragment "${value}" within itself.`, {
    // Not as a node: an error about a node that is no field is taken for one about a value.
    ...(loc ? { source: loc.source, positions: [loc.start] } : {}),
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400, spec: true } },
  });
}
