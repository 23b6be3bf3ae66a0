import type { ObjectRef } from '@pothos/core';
import type { List, Row } from '../upstream/request.ts';
import { builder, type SchemaTypes } from './builder.ts';
import { parseId } from './ids/global-id.ts';

/** The cost of a lookup in a list of which the API has no single read. */
const BY_PAGES =
  'Costs no upstream request if the page that contains it is cached; otherwise 1 for each page from the first to that page.';

/** How a lookup describes itself. */
interface LookupTexts {
  /** What it returns, e.g. `A campaign`. */
  readonly what: string;
  /** The argument, e.g. `The campaign’s`. */
  readonly whose: string;
  /** What it costs; by default that of a list without a single read. */
  readonly cost?: string;
  /** The API that has the list. */
  readonly from?: 'links' | 'market';
}

/**
 * Adds the lookup of one row of a list by its id to the queries. It costs what `Source.find` costs, and nothing if
 * the id is of another type.
 */
export function lookupField<Shape extends object, R extends Row & Shape>(
  name: string,
  type: ObjectRef<SchemaTypes, Shape>,
  list: List<R>,
  { cost = BY_PAGES, from = 'links', what, whose }: LookupTexts,
): void {
  builder.queryField(name, (t) =>
    t.field({
      type,
      nullable: true,
      description: `${what}; null if it does not exist. ${cost}`,
      args: {
        id: t.arg.id({
          required: true,
          description: `${whose} \`id\` or \`databaseId\`. An ID of another type costs no upstream request.`,
        }),
      },
      resolve: (_root, { id }, context) =>
        // To Pothos, the shape of a type parameter could be a list or a promise.
        context[from].find(list, parseId(type.name, id)) as never,
    }),
  );
}
