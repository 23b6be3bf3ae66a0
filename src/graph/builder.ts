import SchemaBuilder, { type ObjectRef } from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import RelayPlugin from '@pothos/plugin-relay';
import { type AtOnce, andThen } from '../scheduling/at-once.ts';
import type { Known, List, Row } from '../upstream/request.ts';
import { accessPlugin } from './access.ts';
import type { GraphContext } from './context.ts';
import { semanticNonNullPlugin } from './directives/semantic-non-null.ts';
import { decodeGlobalId, encodeGlobalId } from './ids/global-id.ts';
import { globalIdPlugin } from './ids/global-id-field.ts';

/** A file of a multipart request, as far as resolvers use it. */
export interface UploadedFile {
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/**
 * What all nouns build the schema with. Fields are nullable unless they say otherwise: whatever comes
 * from an upstream can be missing there. `CampaignRef` is the graph's type of a `Campaign`.
 */
export const builder = new SchemaBuilder<{
  Context: GraphContext;
  Scalars: {
    ID: { Input: string; Output: string | number };
    DateTime: { Input: string; Output: string };
    Date: { Input: string; Output: string };
    Upload: { Input: UploadedFile; Output: never };
    JSONObject: { Input: Record<string, unknown>; Output: Record<string, unknown> };
  };
  Connection: { totalCount: number | null };
  DefaultEdgesNullability: { list: false; items: false };
  DefaultNodeNullability: false;
}>({
  // First in the list, so that the errors of all others can become members of result unions.
  plugins: [ErrorsPlugin, semanticNonNullPlugin, accessPlugin, globalIdPlugin, RelayPlugin],
  errors: { directResult: true },
  relay: {
    cursorType: 'String',
    encodeGlobalID: encodeGlobalId,
    decodeGlobalID: decodeGlobalId,
    idFieldOptions: {
      description:
        'Opaque id, unique over the whole graph: what `node`, and every `id` argument, take.',
    },
    nodeTypeOptions: { description: 'Anything that can be found again by its id alone.' },
    // Fields of our own, in nodes.graph.ts: one id that is wrong must not fail the others.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      description: 'The rows with their cursors.',
    },
    nodesOnConnection: { description: 'The rows alone, for when no cursor is needed.' },
    nodeFieldOptions: { nullable: false, description: 'The row.' },
    cursorFieldOptions: {
      description:
        'The place of this row, for `after` and `before`. Stays valid while other rows come and go.',
    },
    pageInfoFieldOptions: { description: 'Whether and where the list goes on.' },
    pageInfoTypeOptions: {
      description: 'Whether a list goes on beyond this window, and from where.',
    },
    hasNextPageFieldOptions: { description: 'Whether rows follow this window.' },
    hasPreviousPageFieldOptions: { description: 'Whether rows precede this window.' },
    startCursorFieldOptions: { description: 'Cursor of the first row; null when there is no row.' },
    endCursorFieldOptions: { description: 'Cursor of the last row; null when there is no row.' },
    firstArgOptions: {
      description:
        'How many rows, from the front; at most 500. 20 when neither this nor `last` is given.',
    },
    afterArgOptions: { description: 'Only rows behind the one with this cursor.' },
    lastArgOptions: {
      description: 'How many rows, from the back; at most 500. Not together with `first`.',
    },
    beforeArgOptions: { description: 'Only rows before the one with this cursor.' },
    brandLoadedObjects: true,
  },
});

builder.globalConnectionField('totalCount', (t) =>
  t.exposeInt('totalCount', {
    nullable: true,
    description: 'Rows of the whole list; null when the upstream does not say. Costs nothing more.',
  }),
);

builder.queryType({
  description:
    'Everything that can be read. A field that is not selected costs nothing; `extensions.upstream` of each answer says what the operation cost.',
});

builder.mutationType({
  description:
    'Everything that can be changed. Each field checks its input, then writes with one upstream call; once it has answered, no read shows the state before it. Fields of the result that the write did not tell are read when selected, which costs what reading them costs; they are null when it is gone by then.',
});

/** Names and descriptions of a connection and its edge, for `t.connection`. */
export function connectionOf(
  name: string,
  rows: string,
): [{ name: string; description: string }, { name: string; description: string }] {
  return [
    { name: `${name}Connection`, description: `A window of a list of ${rows}.` },
    { name: `${name}Edge`, description: `One of a list of ${rows}, with its place in it.` },
  ];
}

/** Adds a list of the link API to the queries, as a connection of `rows`, which are named in the plural. */
export function listField<Shape, R extends Row & Shape>(
  name: string,
  type: ObjectRef<typeof builder.$inferSchemaTypes, Shape>,
  list: List<R>,
  { description, rows }: Readonly<Record<'description' | 'rows', string>>,
): void {
  builder.queryField(name, (t) =>
    t.connection(
      {
        type,
        nullable: true,
        semanticNonNull: true,
        description,
        resolve: (_root, window, { links }) => links.connection(list, window),
      },
      ...connectionOf(type.name, rows),
    ),
  );
}

/** Options of the `databaseId` field that every row with an upstream's integer id has. */
export const databaseId = {
  nullable: false,
  description: 'The id in the upstream API.',
} as const;

/**
 * Resolves a member of a row: at no cost where it is known, else from the row's list. After a
 * mutation, a member is known when its answer or its input contained it.
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
