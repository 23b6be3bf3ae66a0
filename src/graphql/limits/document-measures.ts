import {
  type ArgumentNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type NameNode,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import type { OperationLimits } from '../../config/config.ts';
import { countPairs } from './field-pairs.ts';
import { tooDeep, tooExpensive } from './text.ts';

/** Limits of a document, including each use of a fragment. */
export interface DocumentLimits
  extends Pick<OperationLimits, 'maxFields' | 'maxDepth' | 'maxAliases' | 'maxDirectives'> {
  /** Maximum nesting of selections, including those of fragments. */
  readonly maxNesting: number;
}

/** What the text of a document uses, whether it makes sense or not. */
export interface DocumentTraits {
  operations: number;
  fragments: number;
  /** Whether there is any other definition. */
  others: boolean;
  spreads: boolean;
  inlineFragments: boolean;
  directives: boolean;
  /** Whether there are directives other than `@skip` and `@include`. */
  otherDirectives: boolean;
  arguments: boolean;
  variableDefinitions: boolean;
  variables: boolean;
  objects: boolean;
  /** One of the introspection fields. */
  introspection: FieldNode | null;
  /** One of the subscriptions. */
  subscription: OperationDefinitionNode | null;
}

/** The traits of a document without a definition. */
const NO_TRAITS: DocumentTraits = {
  operations: 0,
  fragments: 0,
  others: false,
  spreads: false,
  inlineFragments: false,
  directives: false,
  otherDirectives: false,
  arguments: false,
  variableDefinitions: false,
  variables: false,
  objects: false,
  introspection: null,
  subscription: null,
};

/** What is known of a document within its limits. */
export interface DocumentMeasures {
  readonly traits: DocumentTraits;
  /** Pairs of fields with the same response name. */
  readonly pairs: number;
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
export function measureDocument(document: DocumentNode, limits: DocumentLimits): DocumentMeasures {
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
  return { traits: walk.traits, pairs };
}

function beyond(what: string, limit: number): Error {
  return tooExpensive(`The operation ${what}; the limit is ${limit}. Select less, or split it.`);
}

class DocumentWalk {
  readonly traits = { ...NO_TRAITS };
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
        this.traits.fragments += 1;
      } else {
        this.traits.others = true;
      }
    }
    this.traits.operations = this.#operations.length;
  }

  /** `fields` are those of the whole document. */
  measure(): { readonly fields: number; readonly operations: readonly Extent[] } {
    const operations = this.#operations.map((operation) => {
      if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
        this.traits.subscription = operation;
      }
      for (const { defaultValue, directives } of operation.variableDefinitions ?? []) {
        this.traits.variableDefinitions = true;
        if (defaultValue) noteValue(defaultValue, this.traits);
        noteDirectives(directives, this.traits);
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
      pairs += countPairs(selectionSet, this.#fragments);
    }
    return pairs;
  }

  /** `level` is the nesting of the definition itself. */
  #measureDefinition(
    definition: OperationDefinitionNode | FragmentDefinitionNode,
    level: number,
  ): Extent {
    const directives = noteDirectives(definition.directives, this.traits);
    const extent: Extent = { level, fields: 0, nesting: 0, depth: 0, aliases: 0, directives };
    this.#enter(definition.selectionSet, extent, level + 1, 1);
    return extent;
  }

  /** `depth` is that of the fields of a selection. */
  #enter({ selections }: SelectionSetNode, extent: Extent, level: number, depth: number): void {
    if (level > this.#maxNesting) throw tooDeep(this.#maxNesting);
    extent.nesting = Math.max(extent.nesting, level - extent.level);
    for (const selection of selections) {
      extent.directives += noteDirectives(selection.directives, this.traits);
      if (selection.kind === Kind.FIELD) {
        this.#enterField(selection, extent, level, depth);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        this.traits.inlineFragments = true;
        this.#enter(selection.selectionSet, extent, level + 1, depth);
      } else {
        this.traits.spreads = true;
        this.#addFragment(selection.name, extent, level, depth);
      }
    }
  }

  #enterField(field: FieldNode, extent: Extent, level: number, depth: number): void {
    const { alias, name, selectionSet } = field;
    if (name.value === '__schema' || name.value === '__type') this.traits.introspection ??= field;
    noteArguments(field.arguments, this.traits);
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
    if (known === null) throw endless(name);
    if (known) return known;
    const fragment = this.#fragments.get(name.value);
    if (!fragment) return null;
    this.#measured.set(name.value, null);
    const extent = this.#measureDefinition(fragment, level);
    this.#measured.set(name.value, extent);
    return extent;
  }
}

/** What validation would say too, after it has compared all that such a fragment comes to. */
function endless({ value, loc }: NameNode): GraphQLError {
  return new GraphQLError(`Cannot spread fragment "${value}" within itself.`, {
    // Not as a node: an error about a node other than a field is taken for one about a value.
    ...(loc ? { source: loc.source, positions: [loc.start] } : {}),
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400, spec: true } },
  });
}

/** Notes the directives of anything, and returns how many they are. */
function noteDirectives(
  directives: readonly DirectiveNode[] | undefined,
  traits: DocumentTraits,
): number {
  if (directives === undefined || directives.length === 0) return 0;
  for (const directive of directives) {
    const { value } = directive.name;
    traits.directives = true;
    traits.otherDirectives ||= value !== 'skip' && value !== 'include';
    noteArguments(directive.arguments, traits);
  }
  return directives.length;
}

function noteArguments(given: readonly ArgumentNode[] | undefined, traits: DocumentTraits): void {
  for (const { value } of given ?? []) {
    traits.arguments = true;
    noteValue(value, traits);
  }
}

function noteValue(value: ValueNode, traits: DocumentTraits): void {
  if (value.kind === Kind.VARIABLE) {
    traits.variables = true;
  } else if (value.kind === Kind.LIST) {
    for (const each of value.values) noteValue(each, traits);
  } else if (value.kind === Kind.OBJECT) {
    traits.objects = true;
    for (const field of value.fields) noteValue(field.value, traits);
  }
}
