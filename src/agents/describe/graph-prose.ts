import { type GraphQLNamedType, type GraphQLSchema, isObjectType, printType } from 'graphql';
import { BadUserInput } from '../../errors.ts';
import { bareType, firstSentence, type GraphField, signature, typesOfField } from './sdl.ts';

/** The arguments of each list. They are explained once, in the index. */
const PAGING = new Set(['after', 'before', 'first', 'last', 'offset']);
/** Maximum length of a description, in characters. */
const MAX_LENGTH = 24_000;

/** All root fields in one line each, with the names of their arguments besides those of all lists. */
export function indexOfGraph(schema: GraphQLSchema): string {
  return [
    'Queries',
    ...fieldsOf(schema.getQueryType()).map((field) =>
      signature(field, ({ name }) => (PAGING.has(name) ? null : name)),
    ),
    '',
    'Mutations (each takes its input; graph_describe has its types)',
    fieldsOf(schema.getMutationType())
      .map(({ name }) => name)
      .join(' '),
    '',
    'A connection is { nodes { … } totalCount pageInfo { hasNextPage endCursor } }. It also takes first (20 by default, at most 500), after, last, before and offset.',
  ].join('\n');
}

/**
 * The prose and the types of root fields and types, by name: `channels`, `Mutation.createChannel` or `Channel`.
 * @throws BadUserInput `BAD_USER_INPUT` for an unknown name, and if all together are too long.
 */
export function proseOf(schema: GraphQLSchema, names: readonly string[]): string {
  const full = new Map<string, GraphQLNamedType>();
  const bare = new Map<string, GraphQLNamedType>();
  const fields: string[] = [];
  for (const name of new Set(names)) {
    const type = schema.getType(name);
    const field = type ? null : fieldNamed(schema, name);
    if (type) full.set(name, type);
    else if (field) {
      fields.push(proseOfField(field));
      for (const each of typesOfField(field)) bare.set(each.name, each);
    } else throw unknownName(name);
  }
  const types = [
    ...[...full.values()].map((type) => printType(type)),
    ...[...bare.values()].filter(({ name }) => !full.has(name)).map(bareType),
  ];
  const text = [...fields, ...types].join('\n\n');
  if (text.length > MAX_LENGTH) {
    throw new BadUserInput('This is too much for one description. Ask for fewer names.');
  }
  return text;
}

/** A field with the first sentence of each argument. */
function proseOfField(field: GraphField): string {
  const args = field.args
    .filter(({ name }) => !PAGING.has(name))
    .map(({ description, name }) => `- ${name}: ${firstSentence(description)}`);
  return [`# ${field.description ?? ''}`, signature(field), ...args].join('\n');
}

function fieldNamed(schema: GraphQLSchema, name: string): GraphField | undefined {
  const [first = '', second] = name.split('.');
  if (second !== undefined) {
    const type = schema.getType(first);
    return isObjectType(type) ? type.getFields()[second] : undefined;
  }
  return schema.getQueryType()?.getFields()[first] ?? schema.getMutationType()?.getFields()[first];
}

function fieldsOf(type: ReturnType<GraphQLSchema['getQueryType']>): GraphField[] {
  return Object.values(type?.getFields() ?? {});
}

function unknownName(name: string): BadUserInput {
  return new BadUserInput(
    `${JSON.stringify(name.slice(0, 80))} is neither a root field nor a type. graph_describe without arguments lists the root fields; with "find" it searches.`,
  );
}
