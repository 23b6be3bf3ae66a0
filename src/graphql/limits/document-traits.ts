import {
  type ArgumentNode,
  type DirectiveNode,
  type DocumentNode,
  Kind,
  OperationTypeNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';

/** What the text of a document uses, whether it makes sense or not. */
export interface DocumentTraits {
  operations: number;
  fragments: number;
  /** Whether there is any definition besides. */
  others: boolean;
  subscriptions: boolean;
  spreads: boolean;
  inlineFragments: boolean;
  directives: boolean;
  /** Whether there are directives besides `@skip` and `@include`. */
  otherDirectives: boolean;
  arguments: boolean;
  variableDefinitions: boolean;
  variables: boolean;
  objects: boolean;
  /** Whether the schema is asked for. */
  introspection: boolean;
}

/** Finds out what a document uses. O(n), to be asked for when it is known not to be nested too deeply. */
export function traitsOf(document: DocumentNode): DocumentTraits {
  const traits: DocumentTraits = {
    operations: 0,
    fragments: 0,
    others: false,
    subscriptions: false,
    spreads: false,
    inlineFragments: false,
    directives: false,
    otherDirectives: false,
    arguments: false,
    variableDefinitions: false,
    variables: false,
    objects: false,
    introspection: false,
  };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      traits.operations += 1;
      traits.subscriptions ||= definition.operation === OperationTypeNode.SUBSCRIPTION;
      for (const { defaultValue, directives } of definition.variableDefinitions ?? []) {
        traits.variableDefinitions = true;
        if (defaultValue) noteValue(defaultValue, traits);
        noteDirectives(directives, traits);
      }
    } else if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      traits.fragments += 1;
    } else {
      traits.others = true;
      continue;
    }
    noteDirectives(definition.directives, traits);
    noteSelections(definition.selectionSet, traits);
  }
  return traits;
}

function noteSelections({ selections }: SelectionSetNode, traits: DocumentTraits): void {
  for (const selection of selections) {
    noteDirectives(selection.directives, traits);
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      traits.spreads = true;
      continue;
    }
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      traits.inlineFragments = true;
    } else {
      const { value } = selection.name;
      traits.introspection ||= value === '__schema' || value === '__type';
      noteArguments(selection.arguments, traits);
    }
    if (selection.selectionSet) noteSelections(selection.selectionSet, traits);
  }
}

function noteDirectives(
  directives: readonly DirectiveNode[] | undefined,
  traits: DocumentTraits,
): void {
  for (const directive of directives ?? []) {
    const { value } = directive.name;
    traits.directives = true;
    traits.otherDirectives ||= value !== 'skip' && value !== 'include';
    noteArguments(directive.arguments, traits);
  }
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
