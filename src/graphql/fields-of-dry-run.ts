import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { defaultFieldResolver, type GraphQLResolveInfo, type GraphQLSchema } from 'graphql';
import type { GraphContext } from '../graph/context.ts';

/**
 * The same schema for dry runs: each field resolves with sources that have its path, so that a plan can list which
 * field needs which request. Takes some milliseconds, for dry runs only.
 */
export function schemaOfDryRuns(schema: GraphQLSchema): GraphQLSchema {
  return mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: ({ resolve = defaultFieldResolver, ...config }) => ({
      ...config,
      resolve: (parent, args, context: GraphContext, info) =>
        resolve(parent, args, contextOfField(context, info), info),
    }),
  });
}

/** The contexts of each dry run's fields by path: a field of many rows has one. */
const contexts = new WeakMap<GraphContext, Map<string, GraphContext>>();

function contextOfField(context: GraphContext, { path }: GraphQLResolveInfo): GraphContext {
  const field = fieldPath(path);
  const known = contexts.get(context) ?? new Map<string, GraphContext>();
  contexts.set(context, known);
  let own = known.get(field);
  if (!own) {
    const { links, market } = context;
    own = { ...context, links: links.wantedBy(field), market: market.wantedBy(field) };
    known.set(field, own);
  }
  return own;
}

/** A response path without indices, such as `channels.nodes.items`. */
function fieldPath(path: GraphQLResolveInfo['path']): string {
  const keys: string[] = [];
  for (let at: typeof path | undefined = path; at; at = at.prev) {
    if (typeof at.key === 'string') keys.unshift(at.key);
  }
  return keys.join('.');
}
