import { brandWithType, type OutputType, type SchemaTypes } from '@pothos/core';
import { type GraphQLResolveInfo, isObjectType } from 'graphql';
import { BadUserInput, GatewayError } from '../../errors.ts';
import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import { requireType } from '../access.ts';
import { builder } from '../builder.ts';
import type { GraphContext } from '../context.ts';
import { decodeGlobalId, notOfThisGraph } from './global-id.ts';
import { countRefused } from './refused.ts';

/** A decoded global id. */
interface Target {
  readonly typename: string;
  /** As its type reads it: the upstream's integer, or what was sealed. */
  readonly id: number | string;
}

builder.queryField('node', (t) =>
  t.field({
    type: builder.nodeInterfaceRef(),
    description:
      'Looks up an object by its ID; null if it does not exist. Costs the same as the field that looks up that type, e.g. `campaign`: no upstream request if a list that contains the object is cached.',
    args: {
      id: t.arg.id({ required: true, description: 'The `id` of any object.' }),
    },
    resolve: (_root, { id }, context, info) => readNode(targetOf(id, context, info), context, info),
  }),
);

builder.queryField('nodes', (t) =>
  t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    description:
      'Looks up objects by their IDs, in the order of the IDs; null for each object that does not exist. IDs of one type are read together. Costs the same as the fields that look up each type. For an invalid ID, the result is null, with an error at its index.',
    args: {
      ids: t.arg.idList({
        required: true,
        description: 'The `id` of each object, at most 500.',
      }),
    },
    resolve: (_root, { ids }, context, info) => loadNodes(ids, context, info),
  }),
);

/**
 * Each node, or the error in its place. Nodes are resolved one by one, so that one failure does not affect the
 * others; reads are batched nevertheless. A repeated id is resolved once.
 * @throws BadUserInput `BAD_USER_INPUT` if more than 500 ids of the operation were rejected, before any request.
 */
function loadNodes(
  ids: readonly string[],
  context: GraphContext,
  info: GraphQLResolveInfo,
): unknown[] {
  const targets = new Map<string, Target | GatewayError>();
  for (const id of ids) {
    const target = targets.get(id) ?? tryTarget(id, context, info);
    targets.set(id, target);
    if (target instanceof GatewayError) countRefused(context, target);
  }
  // Only after all are decoded: otherwise no field would wait for reads that have already started.
  const nodes = new Map<string, unknown>();
  for (const [id, target] of targets) {
    nodes.set(id, target instanceof GatewayError ? target : tryNode(target, context, info));
  }
  return ids.map((id) => nodes.get(id));
}

/** A node, or the error of one that cannot be read at all. */
function tryNode(target: Target, context: GraphContext, info: GraphQLResolveInfo): unknown {
  try {
    return readNode(target, context, info);
  } catch (error) {
    return error;
  }
}

function tryTarget(
  id: string,
  context: GraphContext,
  info: GraphQLResolveInfo,
): Target | GatewayError {
  try {
    return targetOf(id, context, info);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/**
 * Decodes a global id. No upstream request.
 * @throws BadUserInput `BAD_USER_INPUT` for an invalid global id, or one of a type without lookup.
 * @throws GatewayError `FORBIDDEN` for a type that the viewer may not see.
 */
function targetOf(globalId: string, context: GraphContext, info: GraphQLResolveInfo): Target {
  const { typename, id: part } = decodeGlobalId(globalId);
  const type = info.schema.getType(typename);
  if (!isObjectType(type) || !type.getInterfaces().some(({ name }) => name === 'Node')) {
    throw new BadUserInput(`${typename} cannot be looked up by ID.`);
  }
  requireType(context.viewer, typename);
  const id = loadingOf(typename).id.parse(part, context);
  if (id === null || Number.isNaN(id)) throw notOfThisGraph(globalId);
  return { typename, id };
}

/** The options of a node type that define how it is read by its id. */
interface Loading {
  readonly id: {
    readonly parse: (part: string, context: GraphContext) => Target['id'] | null;
  };
  readonly loadWithoutCache: (
    id: Target['id'],
    context: GraphContext,
    info: GraphQLResolveInfo,
  ) => AtOnce<object | null>;
}

function loadingOf(typename: string): Loading {
  const { pothosOptions } = builder.configStore.getTypeConfig(typename, 'Object');
  return pothosOptions as object as Loading;
}

/**
 * Synchronous on a cache hit, where the library always creates a promise. Costs the upstream requests of reading
 * its type by id.
 */
function readNode(
  { typename, id }: Target,
  context: GraphContext,
  info: GraphQLResolveInfo,
): AtOnce<object | null> {
  return andThen(loadingOf(typename).loadWithoutCache(id, context, info), (node) => {
    // The interface determines the type by this.
    brandWithType(node, typename as OutputType<SchemaTypes>);
    return node;
  });
}
