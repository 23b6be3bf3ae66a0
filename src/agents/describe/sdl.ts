import {
  astFromValue,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isScalarType,
  isUnionType,
  print,
} from 'graphql';

/** A field of any type. */
export type GraphField = GraphQLField<unknown, unknown>;

/** The first sentence of a description. */
export function firstSentence(description: string | null | undefined): string {
  return /^[^]*?[.](?=\s|$)/.exec(description ?? '')?.[0] ?? description ?? '';
}

/** A field in one line, with its arguments as `shown`. */
export function signature(
  { args, name, type }: GraphField,
  shown: (arg: GraphQLArgument) => string | null = input,
): string {
  const list = args.map(shown).filter((text) => text !== null);
  return `${name}${list.length === 0 ? '' : `(${list.join(', ')})`}: ${String(type)}`;
}

/** A type without prose. A type whose members are only names has one line. */
export function bareType(type: GraphQLNamedType): string {
  if (isScalarType(type)) return `scalar ${type.name}`;
  if (isUnionType(type)) {
    return `union ${type.name} = ${type.getTypes().map(String).join(' | ')}`;
  }
  if (isEnumType(type)) {
    const values = type.getValues().map(({ name }) => name);
    return `enum ${type.name} { ${values.join(' ')} }`;
  }
  if (isInputObjectType(type)) {
    return block(`input ${type.name}`, Object.values(type.getFields()).map(input));
  }
  const fields = Object.values(type.getFields()).filter(
    ({ deprecationReason }) => deprecationReason == null,
  );
  const kind = isInterfaceType(type) ? 'interface' : 'type';
  return block(
    `${kind} ${type.name}`,
    fields.map((field) => signature(field)),
  );
}

function block(head: string, lines: readonly string[]): string {
  return `${head} {\n${lines.map((line) => `  ${line}`).join('\n')}\n}`;
}

function input(value: GraphQLArgument | GraphQLInputField): string {
  const { defaultValue, name, type } = value;
  const literal = astFromValue(defaultValue, type);
  return `${name}: ${String(type)}${literal ? ` = ${print(literal)}` : ''}`;
}

/**
 * The types that a caller needs to write a field: its input types, and what it returns, without pages and their edges.
 */
export function typesOfField({ args, type }: GraphField): GraphQLNamedType[] {
  const types = new Map<string, GraphQLNamedType>();
  const add = (named: GraphQLNamedType): void => {
    if (isScalarType(named) || types.has(named.name)) return;
    types.set(named.name, named);
    if (isInputObjectType(named)) {
      for (const field of Object.values(named.getFields())) add(getNamedType(field.type));
    }
  };
  for (const arg of args) add(getNamedType(arg.type));
  const result = getNamedType(type);
  const row = rowOf(result);
  if (row) add(row);
  else if (isUnionType(result)) {
    add(result);
    for (const member of result.getTypes()) add(member);
  } else add(result);
  return [...types.values()];
}

/** The type of the rows of a connection; `null` for any other type. */
function rowOf(type: GraphQLNamedType): GraphQLNamedType | null {
  if (!isObjectType(type) || !type.name.endsWith('Connection')) return null;
  const { nodes } = type.getFields();
  return nodes ? getNamedType(nodes.type) : null;
}
