import {
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from 'graphql';
import { firstSentence } from './sdl.ts';

/** A named part of the graph. */
interface NamedPart {
  /** Such as `Channel`, `Channel.items` or `LinkOrder.CLICKS`. */
  readonly name: string;
  readonly description: string;
}

/** A match of a word in a name, and in a description. */
const IN_NAME = 3;
const IN_PROSE = 1;

/** Every type, field and value of a schema, made when it is first searched. */
const entriesOf = new WeakMap<GraphQLSchema, readonly NamedPart[]>();

/** The names that have some of these words in name or prose, the best first: one line each. */
export function search(schema: GraphQLSchema, text: string, most: number): string[] {
  const words = text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  const entries = entriesOf.get(schema) ?? allEntries(schema);
  entriesOf.set(schema, entries);
  const found = entries.flatMap((entry) => {
    const points = words.reduce((sum, word) => sum + pointsOf(entry, word), 0);
    return points > 0 ? [{ entry, points }] : [];
  });
  return found
    .sort((one, other) => other.points - one.points || (one.entry.name < other.entry.name ? -1 : 1))
    .slice(0, most)
    .map(({ entry: { description, name } }) => `${name}: ${firstSentence(description)}`);
}

function pointsOf({ description, name }: NamedPart, word: string): number {
  // Users write plurals.
  const stem = word.length > 3 ? word.replace(/s$/, '') : word;
  const inName = name.toLowerCase().includes(stem) ? IN_NAME : 0;
  return inName + (description.toLowerCase().includes(stem) ? IN_PROSE : 0);
}

function allEntries(schema: GraphQLSchema): NamedPart[] {
  return Object.values(schema.getTypeMap()).flatMap((type) => {
    if (type.name.startsWith('__') || /(?:Connection|Edge)$/.test(type.name)) return [];
    const own = { name: type.name, description: type.description ?? '' };
    return [own, ...membersOf(type)];
  });
}

function membersOf(type: GraphQLNamedType): NamedPart[] {
  const members = isEnumType(type)
    ? type.getValues()
    : isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)
      ? Object.values(type.getFields())
      : [];
  return members.map(({ description, name }) => {
    return { name: `${type.name}.${name}`, description: description ?? '' };
  });
}
