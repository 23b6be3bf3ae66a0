import type { ObjectRef } from '@pothos/core';
import type { WindowArguments } from '../../upstream/lists/window.ts';
import type { List, Row } from '../../upstream/request.ts';
import { builder, connectionOf, type SchemaTypes } from '../builder.ts';
import type { GraphContext } from '../context.ts';
import type { ArgBuilder, Args, Given } from './filters.ts';
import { type ListTable, type ListTableOptions, listTable } from './list-table.ts';

/** A list as a field of the queries. */
interface ListFieldOptions<R extends Row> extends ListTableOptions<R> {
  readonly description: string;
  /** The API that it is of; the link-management API by default. */
  readonly upstream?: 'links' | 'market';
  /** Arguments that make it another list of the upstream. */
  readonly args?: (arg: ArgBuilder) => Args;
}

/** The arguments of a connection besides those of Relay: its view, and the number of items to skip. */
export function connectionArgs<R extends Row>(arg: ArgBuilder, table: ListTable<R>): Args {
  return {
    ...table.args(arg),
    offset: arg.int({
      description:
        'Number of items to skip at the start of the list, after searching, filtering and sorting it. Can be combined with `first` only. Costs only the pages with the requested items, unless the list is searched, filtered or sorted.',
    }),
  };
}

/** Adds a list to the queries, as a connection; `list` is a function if arguments of its own select the list. */
export function listField<Shape, R extends Row & Shape>(
  name: string,
  type: ObjectRef<SchemaTypes, Shape>,
  list: List<R> | ((given: Given) => List<R>),
  { description, upstream = 'links', args, ...options }: ListFieldOptions<NoInfer<R>>,
): void {
  const table = listTable(type.name, options);
  builder.queryField(name, (t) =>
    t.connection(
      {
        type,
        nullable: true,
        semanticNonNull: true,
        description,
        args: { ...connectionArgs(t.arg, table), ...args?.(t.arg) },
        resolve: (_root, given: WindowArguments & Given, context: GraphContext) => {
          const view = table.view(given);
          return context[upstream].connection(
            typeof list === 'function' ? list(given) : list,
            given,
            view,
          );
        },
      },
      ...connectionOf(type.name, options.rows),
    ),
  );
}
