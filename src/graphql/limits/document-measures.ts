import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type NameNode,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
} from 'graphql';
import type { OperationLimits } from '../../config/config.ts';
import { invalid, tooDeep, tooExpensive } from './text.ts';

/** Limits of a document, including each use of a fragment. */
export interface DocumentLimits
  extends Pick<OperationLimits, 'maxFields' | 'maxDepth' | 'maxAliases' | 'maxDirectives'> {
  /** Maximum nesting of selections, including those of fragments. */
  readonly maxNesting: number;
}

/** What may be refused in a document within its limits. */
export interface DocumentTraits {
  /** One of the introspection fields. */
  introspection: FieldNode | null;
  /** One of the subscriptions. */
  subscription: OperationDefinitionNode | null;
}

/** The measures of an operation or a fragment. */
interface Extent {
  /** The nesting of selections at which it was measured. */
  readonly level: number;
  fields: number;
  /** The nesting of selections. */
  nesting: number;
  /** The nesting of fields, without those below `__schema`. */
  depth: number;
  /** Those of `__typename` do not count. */
  aliases: number;
  directives: number;
}

/**
 * Pairs of fields with the same response name. Validation compares each pair and its arguments, which takes some
 * microseconds.
 */
const MAX_PAIRS = 10_000;

/**
 * Measures a document: the fields of all its operations, and of unused fragments; depth, aliases and directives of
 * each operation; the pairs of fields with the same response name. One walk enters each selection once, however
 * often its fragment is used. A second one counts pairs, once the number of fields is known to be low.
 * @throws GatewayError `OPERATION_TOO_EXPENSIVE` with the number that is too large.
 * @throws GraphQLError `GRAPHQL_VALIDATION_FAILED` for a fragment that contains itself.
 */
export function measureDocument(document: DocumentNode, limits: DocumentLimits): DocumentTraits {
  const { maxAliases, maxDepth, maxDirectives, maxFields } = limits;
  const walk = new DocumentWalk(document, limits.maxNesting);
  const { fields, operations } = walk.measure();
  if (fields > maxFields) {
    throw tooExpensive(
      `The operation has ${Number.isSafeInteger(fields) ? fields : 'too many'} fields, including each use of a fragment; the limit is ${maxFields}. Select fewer fields, or split the operation.`,
    );
  }
  for (const { aliases, depth, directives } of operations) {
    if (depth > maxDepth) throw beyond(`has a depth of ${depth}`, maxDepth);
    if (aliases > maxAliases) throw beyond(`has ${aliases} aliases`, maxAliases);
    if (directives > maxDirectives) throw beyond(`has ${directives} directives`, maxDirectives);
  }
  const pairs = walk.pairs();
  if (pairs > MAX_PAIRS) {
    throw tooExpensive(
      `The operation selects the same fields too often: it has ${pairs} pairs of equal fields; the limit is ${MAX_PAIRS}. Select each field once.`,
    );
  }
  return walk.traits;
}

function beyond(what: string, limit: number): Error {
  return tooExpensive(`The operation ${what}; the limit is ${limit}. Select less, or split it.`);
}

class DocumentWalk {
  readonly traits: DocumentTraits = { introspection: null, subscription: null };
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  readonly #operations: OperationDefinitionNode[] = [];
  /** `null` while a fragment is being measured. */
  readonly #measured = new Map<string, Extent | null>();
  readonly #unused: FragmentDefinitionNode[] = [];
  readonly #maxNesting: number;

  constructor({ definitions }: DocumentNode, maxNesting: number) {
    this.#maxNesting = maxNesting;
    for (const definition of definitions) {
      if (definition.kind === Kind.OPERATION_DEFINITION) {
        this.#operations.push(definition);
      } else if (definition.kind === Kind.FRAGMENT_DEFINITION) {
        this.#fragments.set(definition.name.value, definition);
      }
    }
  }

  /** `fields` are those of the whole document. */
  measure(): { readonly fields: number; readonly operations: readonly Extent[] } {
    const operations = this.#operations.map((operation) => {
      if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
        this.traits.subscription = operation;
      }
      return this.#measureDefinition(operation, 0);
    });
    let fields = 0;
    for (const operation of operations) fields += operation.fields;
    for (const fragment of this.#fragments.values()) {
      if (this.#measured.has(fragment.name.value)) continue;
      this.#unused.push(fragment);
      fields += this.#measureFragment(fragment.name, 0)?.fields ?? 0;
    }
    return { fields, operations };
  }

  /** Call only if the number of fields is low and no fragment contains itself. */
  pairs(): number {
    let pairs = 0;
    for (const { selectionSet } of [...this.#operations, ...this.#unused]) {
      pairs += countPairs([selectionSet], this.#fragments);
    }
    return pairs;
  }

  /** `level` is the nesting of the definition itself. */
  #measureDefinition(
    definition: OperationDefinitionNode | FragmentDefinitionNode,
    level: number,
  ): Extent {
    const directives = definition.directives?.length ?? 0;
    const extent: Extent = { level, fields: 0, nesting: 0, depth: 0, aliases: 0, directives };
    this.#enter(definition.selectionSet, extent, level + 1, 1);
    return extent;
  }

  /** `depth` is that of the fields of a selection. */
  #enter({ selections }: SelectionSetNode, extent: Extent, level: number, depth: number): void {
    if (level > this.#maxNesting) throw tooDeep(this.#maxNesting);
    extent.nesting = Math.max(extent.nesting, level - extent.level);
    for (const selection of selections) {
      extent.directives += selection.directives?.length ?? 0;
      if (selection.kind === Kind.FIELD) {
        this.#enterField(selection, extent, level, depth);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        this.#enter(selection.selectionSet, extent, level + 1, depth);
      } else {
        this.#addFragment(selection.name, extent, level, depth);
      }
    }
  }

  #enterField(field: FieldNode, extent: Extent, level: number, depth: number): void {
    const { alias, name, selectionSet } = field;
    if (name.value === '__schema' || name.value === '__type') this.traits.introspection ??= field;
    extent.fields += 1;
    if (alias && alias.value !== '__typename' && name.value !== '__typename') extent.aliases += 1;
    const counted = name.value === '__schema' ? Number.NEGATIVE_INFINITY : depth;
    extent.depth = Math.max(extent.depth, counted);
    if (selectionSet) this.#enter(selectionSet, extent, level + 1, counted + 1);
  }

  #addFragment(name: NameNode, extent: Extent, level: number, depth: number): void {
    const fragment = this.#measureFragment(name, level);
    if (!fragment) return;
    const nesting = level + fragment.nesting;
    if (nesting > this.#maxNesting) throw tooDeep(this.#maxNesting);
    extent.nesting = Math.max(extent.nesting, nesting - extent.level);
    extent.depth = Math.max(extent.depth, depth - 1 + fragment.depth);
    extent.fields += fragment.fields;
    extent.aliases += fragment.aliases;
    extent.directives += fragment.directives;
  }

  /** `null` for a missing fragment, which validation reports. */
  #measureFragment(name: NameNode, level: number): Extent | null {
    const known = this.#measured.get(name.value);
    // Validation would say so too, after it has compared all that such a fragment comes to.
    if (known === null)
      throw invalid(`Cannot spread fragment "${name.value}" within itself.`, name);
    if (known) return known;
    const fragment = this.#fragments.get(name.value);
    if (!fragment) return null;
    this.#measured.set(name.value, null);
    const extent = this.#measureDefinition(fragment, level);
    this.#measured.set(name.value, extent);
    return extent;
  }
}

type FragmentsByName = ReadonlyMap<string, FragmentDefinitionNode>;

/**
 * Counts the pairs of fields with the same response name in selections that are merged in the response, and below
 * them, with fragments expanded. The number of fields must be low, and no fragment may contain itself.
 */
function countPairs(sets: readonly SelectionSetNode[], fragments: FragmentsByName): number {
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
