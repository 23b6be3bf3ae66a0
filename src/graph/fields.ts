import type { EnumRef } from '@pothos/core';
import { type AtOnce, andThen } from '../scheduling/at-once.ts';
import type { Known, List, Row } from '../upstream/request.ts';
import { builder, type SchemaTypes } from './builder.ts';
import type { GraphContext } from './context.ts';

type ObjectFields<Shape> = PothosSchemaTypes.ObjectFieldBuilder<SchemaTypes, Shape>;
/** What makes the fields of a type of objects, or of an interface. */
export type FieldsOf<Shape> =
  | ObjectFields<Shape>
  | PothosSchemaTypes.InterfaceFieldBuilder<SchemaTypes, Shape>;
type GraphField = ReturnType<ObjectFields<unknown>['field']>;

/** The values of each type that members can be shown as; with `!`, it is never null. */
interface Scalars {
  String: string;
  Int: number;
  Float: number;
  Boolean: boolean;
  DateTime: string;
  Date: string;
  '[String!]': readonly string[];
}
type ScalarName = keyof Scalars;
type Notation = ScalarName | `${ScalarName}!`;
type ValueOf<N extends Notation> = N extends `${infer S extends ScalarName}!`
  ? Scalars[S]
  : Scalars[N & ScalarName];

/** The descriptions of members that have values of a type. */
export type Described<R, N extends Notation> = {
  readonly [M in keyof R as NonNullable<R[M]> extends ValueOf<N> ? M : never]?: string;
};

/** The fields of one type that show the members of the same names, with the description of each. */
export function shown<Shape, const N extends Notation>(
  t: FieldsOf<Shape>,
  type: N,
  members: Described<Shape, N>,
): Record<string, GraphField> {
  return fieldsFor(t, type, members, (member) => (row) => row[member as keyof Shape]);
}

/** As `shown`, each as `lazily`. */
export function shownLazily<R extends Row, Shape extends Known<R>, const N extends Notation>(
  t: FieldsOf<Shape>,
  list: List<R>,
  type: N,
  members: Described<R, N>,
): Record<string, GraphField> {
  return fieldsFor(t, type, members, (member) => lazily(list, member as keyof R & string));
}

function fieldsFor<Shape>(
  t: FieldsOf<Shape>,
  notation: Notation,
  members: Readonly<Record<string, string | undefined>>,
  resolverOf: (member: string) => (row: Shape, args: unknown, context: GraphContext) => unknown,
): Record<string, GraphField> {
  const type = notation.startsWith('[')
    ? (['String'] as ['String'])
    : (notation.replace('!', '') as Exclude<ScalarName, '[String!]'>);
  const fields = Object.entries(members).map(([member, description = '']) => {
    const field = (t as ObjectFields<unknown>).field({
      type,
      nullable: !notation.endsWith('!'),
      description,
      resolve: resolverOf(member) as never,
    });
    return [member, field] as const;
  });
  return Object.fromEntries(fields);
}

/**
 * Resolves a member of a row: without cost if it is known, otherwise from the row's list. After a mutation, a
 * member is known if its response or its input contained it.
 */
export function lazily<R extends Row, Member extends keyof R & string>(
  list: List<R>,
  member: Member,
): (row: Known<R>, args: unknown, context: GraphContext) => AtOnce<R[Member] | null> {
  return (row, _args, { links }) => {
    const known = row[member];
    if (known !== undefined) return known as R[Member];
    return andThen(links.find(list, row.id), (found) => found?.[member] ?? null);
  };
}

/** A time under a consistent name, and deprecated under the one that it had before. */
export function renamedTime<Shape>(
  t: FieldsOf<Shape>,
  [name, before]: readonly [name: string, before: string],
  description: string,
  resolve: (row: Shape, args: unknown, context: GraphContext) => AtOnce<string | null | undefined>,
): Record<string, GraphField> {
  const time = (says: object): GraphField =>
    (t as ObjectFields<unknown>).field({ type: 'DateTime', resolve, ...says } as never);
  return {
    [name]: time({ description: `${description} Costs no extra upstream request.` }),
    [before]: time({ description, deprecationReason: `Renamed to \`${name}\`.` }),
  };
}

/** `createdAt`, which was `date`. */
export function createdTime<Shape>(
  t: FieldsOf<Shape>,
  resolve: Parameters<typeof renamedTime<Shape>>[3],
  what = 'Creation time',
): Record<string, GraphField> {
  const description = `${what}; null if the API does not provide it.`;
  return renamedTime(t, ['createdAt', 'date'], description, resolve);
}

/** An enum of these values, each with its description. */
export function enumOf<V extends string>(
  name: string,
  description: string,
  values: Readonly<Record<V, string>>,
): EnumRef<SchemaTypes, V> {
  const described = Object.entries<string>(values).map(([value, says]) => {
    return [value, { description: says }] as const;
  });
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(described),
  }) as EnumRef<SchemaTypes, string> as EnumRef<SchemaTypes, V>;
}
