import {
  type ArgumentNode,
  type DirectiveNode,
  type FieldNode,
  Kind,
  type ValueNode,
  type VariableDefinitionNode,
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
  /** One of the fields that ask for the schema. */
  introspection: FieldNode | null;
}

/** The traits of a document without a definition. */
export function noTraits(): DocumentTraits {
  return {
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
    introspection: null,
  };
}

/** Notes the definitions of an operation's variables. */
export function noteVariables(
  definitions: readonly VariableDefinitionNode[] | undefined,
  traits: DocumentTraits,
): void {
  for (const { defaultValue, directives } of definitions ?? []) {
    traits.variableDefinitions = true;
    if (defaultValue) noteValue(defaultValue, traits);
    noteDirectives(directives, traits);
  }
}

/** Notes a field by itself, without its directives and selections. */
export function noteField(field: FieldNode, traits: DocumentTraits): void {
  const { value } = field.name;
  if (value === '__schema' || value === '__type') traits.introspection ??= field;
  noteArguments(field.arguments, traits);
}

/** Notes the directives of anything, and returns how many they are. */
export function noteDirectives(
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
