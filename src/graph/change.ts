import type { InputObjectRef, ObjectRef } from '@pothos/core';
import type { Known, List, Row, Write } from '../upstream/request.ts';
import { builder, type SchemaTypes } from './builder.ts';
import { InputChecks } from './checks.ts';
import type { GraphContext } from './context.ts';
import { DeletedRef, refusals, resultOf } from './result.ts';
import {
  type ComparedMember,
  Conflict,
  type Expectation,
  expectationOf,
  type Values,
} from './rows/expectation.ts';

/** The argument that `builder.mutationFields` passes to its callback. */
type MutationFields = Parameters<Parameters<typeof builder.mutationFields>[0]>[0];

/** How a mutation with the argument `input` describes itself. */
interface InputTexts<Input> {
  /** The name of the union of its results. */
  readonly result: string;
  readonly description: string;
  /** The type of the argument, and its description. */
  readonly input: readonly [type: InputObjectRef<SchemaTypes, Input>, description: string];
}

interface ChangeOptions<Shape, Input, Checked> extends InputTexts<Input> {
  /** Notes what is wrong with the input: nothing is sent if there is anything. Its result is for `send`. */
  readonly check: (checks: InputChecks, input: Input, context: GraphContext) => Checked;
  readonly send: (input: Input, context: GraphContext, checked: Checked) => Promise<Shape>;
}

/** A mutation that checks its input, and then sends 1 upstream request. */
export function changeField<Shape, Input, Checked>(
  t: MutationFields,
  type: ObjectRef<SchemaTypes, Shape>,
  { check, description, input, result, send }: ChangeOptions<Shape, Input, Checked>,
) {
  return t.field({
    ...resultOf(type, result),
    description,
    args: { input: t.arg({ type: input[0], required: true, description: input[1] }) },
    resolve: ((_root: unknown, given: { readonly input: Input }, context: GraphContext) => {
      const checks = new InputChecks('input');
      const checked = check(checks, given.input, context);
      checks.done();
      return send(given.input, context, checked);
    }) as never,
  });
}

/** The argument `expected` of an update. */
interface Expected<R extends Row> {
  readonly type: InputObjectRef<SchemaTypes, Values>;
  /** Checks the argument, and makes its expectation. */
  readonly expect: (checks: InputChecks, given: Values | null | undefined) => Expectation<R> | null;
}

/** A member of an argument `expected`. */
interface ExpectedMember<R extends Row> extends ComparedMember<R> {
  readonly type: 'String' | 'Boolean';
  readonly description: string;
}

/** Makes the argument `expected` of updates of a type; `what` is one of its objects, e.g. `a channel`. */
export function expectedOf<R extends Row>(
  typename: string,
  what: string,
  members: Readonly<Record<string, ExpectedMember<R>>>,
): Expected<R> {
  const type = builder.inputType(`Expected${typename}`, {
    description: `The values that ${what} must have for an update. Omitted members are not compared; null expects that there is no value. At least one member is required.`,
    fields: (t) =>
      Object.fromEntries(
        Object.entries(members).map(([name, { description, type: scalar }]) => {
          return [name, t.field({ type: scalar, description })] as const;
        }),
      ),
  });
  return { type, expect: expectationOf<R>(typename, members) };
}

interface UpdateOptions<R extends Row, Input> extends InputTexts<Input> {
  readonly expected: Expected<R>;
  /** Members of which at least one is required. */
  readonly anyOf?: readonly (keyof Input & string)[];
  /** As in a change. */
  readonly check: (checks: InputChecks, input: Input) => void;
  readonly write: (id: number, input: Input) => Write<Known<R>>;
}

/**
 * A mutation that checks its input, and then updates a row of a list, if it is as expected. Costs 1 upstream request, and
 * with an expectation that of `Source.update`.
 */
export function updateField<R extends Row, Input>(
  t: MutationFields,
  type: ObjectRef<SchemaTypes, Known<R>>,
  list: List<R>,
  { anyOf = [], check, description, expected, input, result, write }: UpdateOptions<R, Input>,
) {
  interface Given {
    readonly input: Input & { readonly id: string };
    readonly expected?: Values | null;
  }
  return t.field({
    ...resultOf(type, result, [...refusals, Conflict]),
    description: `${description} With \`expected\`, plus a read of the list up to the page with the object if that is not cached; a \`Conflict\` costs only this read.`,
    args: {
      input: t.arg({ type: input[0], required: true, description: input[1] }),
      expected: t.arg({
        type: expected.type,
        description:
          'The values that the object must have; otherwise the result is `Conflict`, and nothing is changed. Other changes of the object through the gateway wait meanwhile.',
      }),
    },
    resolve: ((_root: unknown, given: Given, context: GraphContext) => {
      const checks = new InputChecks('input');
      const some = anyOf.map((name) => [name, given.input[name]] as const);
      if (some.length > 0) checks.anyGiven(Object.fromEntries(some));
      const id = checks.id('id', type.name, given.input.id);
      check(checks, given.input);
      const expectation = expected.expect(checks, given.expected);
      checks.done();
      return context.links.update(list, id, write(id, given.input), expectation);
    }) as never,
  });
}

/** A mutation that deletes a row of a type by its id. Costs 1 upstream request. */
export function deletion(
  t: MutationFields,
  typename: string,
  remove: (id: number) => Write<{ readonly id: number }>,
  { description, result, which }: Readonly<Record<'description' | 'result' | 'which', string>>,
) {
  return t.field({
    ...resultOf(DeletedRef, result),
    description,
    args: { id: t.arg.id({ required: true, description: which }) },
    resolve: async (_root, args, { links }) => {
      const checks = new InputChecks();
      const id = checks.id('id', typename, args.id);
      checks.done();
      await links.write(remove(id));
      return { typename, id };
    },
  });
}
