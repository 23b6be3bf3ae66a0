import SchemaBuilder from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import RelayPlugin from '@pothos/plugin-relay';
import { accessPlugin } from './access.ts';
import type { GraphContext } from './context.ts';
import { semanticNonNullPlugin } from './directives/semantic-non-null.ts';
import { decodeGlobalId, encodeGlobalId } from './ids/global-id.ts';
import { globalIdPlugin } from './ids/global-id-field.ts';
import { mutationFieldsPlugin } from './keyed/mutation-fields.ts';

/** A file of a multipart request, as far as resolvers use it. */
export interface UploadedFile {
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/**
 * The schema builder of all nouns. Fields are nullable unless declared otherwise, because upstreams can omit
 * anything. `CampaignRef` is the graph's type of a `Campaign`.
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
  plugins: [
    ErrorsPlugin,
    semanticNonNullPlugin,
    accessPlugin,
    mutationFieldsPlugin,
    globalIdPlugin,
    RelayPlugin,
  ],
  errors: { directResult: true },
  relay: {
    cursorType: 'String',
    encodeGlobalID: encodeGlobalId,
    decodeGlobalID: decodeGlobalId,
    idFieldOptions: {
      description: 'Opaque, globally unique ID. `node` and every `id` argument accept it.',
    },
    nodeTypeOptions: { description: 'An object that `node` can look up by its ID.' },
    // Fields of our own, in nodes.graph.ts: one id that is wrong must not fail the others.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      description: 'The items with their cursors. Costs no extra upstream request.',
    },
    nodesOnConnection: {
      description: 'The items without their cursors. Costs no extra upstream request.',
    },
    nodeFieldOptions: {
      nullable: false,
      description: 'The item at this position. Costs no extra upstream request.',
    },
    cursorFieldOptions: {
      description:
        'Cursor of this item, for `after` and `before`. It stays valid when other items are added or deleted. Costs no extra upstream request.',
    },
    pageInfoFieldOptions: {
      description:
        'Cursors of the page, and whether items follow or precede it. Costs no extra upstream request.',
    },
    pageInfoTypeOptions: {
      description:
        'Cursors of a page, and whether items follow or precede it. Costs no extra upstream request.',
    },
    hasNextPageFieldOptions: {
      description: 'Whether items follow this page. Costs no extra upstream request.',
    },
    hasPreviousPageFieldOptions: {
      description: 'Whether items precede this page. Costs no extra upstream request.',
    },
    startCursorFieldOptions: {
      description:
        'Cursor of the first item; null if the page is empty. Costs no extra upstream request.',
    },
    endCursorFieldOptions: {
      description:
        'Cursor of the last item; null if the page is empty. Costs no extra upstream request.',
    },
    firstArgOptions: {
      description:
        'Number of items from the start of the list, at most 500. Defaults to 20 if neither `first` nor `last` is set.',
    },
    afterArgOptions: { description: 'Returns items after this cursor.' },
    lastArgOptions: {
      description:
        'Number of items from the end of the list, at most 500. Cannot be combined with `first`.',
    },
    beforeArgOptions: { description: 'Returns items before this cursor.' },
    brandLoadedObjects: true,
  },
});

builder.globalConnectionField('totalCount', (t) =>
  t.exposeInt('totalCount', {
    nullable: true,
    description:
      'Number of items in the whole list; null if the API does not provide it. Costs no extra upstream request.',
  }),
);

builder.queryType({
  description:
    'All reads. A field that is not selected costs nothing. `extensions.upstream` of each response states what the operation cost.',
});

builder.mutationType({
  description:
    'All writes, in the order of the operation: a field that fails is null, with an error, and those after it are executed. Each field validates its input, then sends 1 upstream request. After its response, all reads return the changed data. Selected result fields that the upstream response does not contain are read separately, at the cost of that read; they are null if the object has been deleted by then. `extensions.messages` of the response contains what the API said about each successful write.',
});

/** The types of the schema, for references to them. */
export type SchemaTypes = typeof builder.$inferSchemaTypes;

/** Names and descriptions of a connection and its edge, for `t.connection`. */
export function connectionOf(
  name: string,
  rows: string,
): [{ name: string; description: string }, { name: string; description: string }] {
  return [
    {
      name: `${name}Connection`,
      description: `A page of the list of ${rows}. Costs what the field that returns it costs.`,
    },
    {
      name: `${name}Edge`,
      description: `An edge in the list of ${rows}: an item and its cursor. Costs no extra upstream request.`,
    },
  ];
}

/** Options of the `databaseId` field that every row with an upstream's integer id has. */
export const databaseId = {
  nullable: false,
  description: 'ID in the upstream API.',
} as const;
