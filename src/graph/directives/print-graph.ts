import {
  type ConstDirectiveNode,
  type FieldDefinitionNode,
  type GraphQLField,
  type GraphQLSchema,
  isInterfaceType,
  isObjectType,
  Kind,
  lexicographicSortSchema,
  parse,
  print,
  printSchema,
  visit,
} from 'graphql';

/**
 * Prints a schema as text, in alphabetical order, the same on every machine. Unlike GraphQL's own printer, it prints
 * the directives on fields. Introspection does not list those.
 */
export function printGraph(schema: GraphQLSchema): string {
  const document = parse(printSchema(lexicographicSortSchema(schema)), { noLocation: true });
  const marked = visit(document, {
    [Kind.OBJECT_TYPE_DEFINITION]: (node) => ({ ...node, fields: mark(node) }),
    [Kind.INTERFACE_TYPE_DEFINITION]: (node) => ({ ...node, fields: mark(node) }),
  });
  return `${airy(print(marked))}\n`;

  function mark(node: {
    readonly name: { readonly value: string };
    readonly fields?: readonly FieldDefinitionNode[];
  }): readonly FieldDefinitionNode[] {
    const type = schema.getType(node.name.value);
    const fields = isObjectType(type) || isInterfaceType(type) ? type.getFields() : {};
    return (node.fields ?? []).map((field) => {
      const names = directivesOf(fields[field.name.value]);
      return { ...field, directives: [...(field.directives ?? []), ...names.map(directive)] };
    });
  }
}

/** The names of the directives on a field; none of them takes an argument there. */
function directivesOf(field: GraphQLField<unknown, unknown> | undefined): string[] {
  return Object.keys(field?.extensions['directives'] ?? {});
}

function directive(name: string): ConstDirectiveNode {
  return { kind: Kind.DIRECTIVE, name: { kind: Kind.NAME, value: name } };
}

/** Puts a blank line before each member that has a description, unless it is the first. */
function airy(text: string): string {
  let inside = false;
  let before = '';
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    if (!inside && line.trim().startsWith('"""') && !/^$|[{(]$/.test(before)) lines.push('');
    if ((line.split('"""').length - 1) % 2 === 1) inside = !inside;
    lines.push(line);
    before = line;
  }
  return lines.join('\n');
}
