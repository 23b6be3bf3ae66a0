import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
} from 'graphql';
import type { GraphContext } from '../graph/context.ts';
import { OneAtATime } from '../scheduling/one-at-a-time.ts';
import type { DryRun } from '../upstream/dry-run/dry-run.ts';
import type { Receipt } from '../upstream/receipt.ts';
import type { Part } from './delivery.ts';
import { isOfRequest } from './mask-error.ts';

/** Maximum number of errors in the response to a dry run, without repetitions. */
const MOST_ERRORS = 20;

/** All dry runs of a process: they are executed one at a time, by a schema of their own. */
export class DryRuns {
  readonly ofRequests = new OneAtATime();
  /** That of a start of a job waits within that of a request. */
  readonly ofJobs = new OneAtATime();
  #schema: GraphQLSchema | null = null;

  /** The same schema for dry runs, made when it is first used. */
  schemaOf(schema: GraphQLSchema): GraphQLSchema {
    this.#schema ??= schemaOfDryRuns(schema);
    return this.#schema;
  }
}

/**
 * The same schema for dry runs: each field resolves with sources that have its path, so that a plan can list which
 * field needs which request. Takes some milliseconds, for dry runs only.
 */
function schemaOfDryRuns(schema: GraphQLSchema): GraphQLSchema {
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

/**
 * The response to a dry run: `extensions.plan` and no data. Errors of the request itself are kept; those caused by
 * not sending requests are omitted.
 */
export async function planned(
  result: Part | AsyncIterable<Part>,
  { dryRun, receipt }: { readonly dryRun: DryRun; readonly receipt: Receipt },
): Promise<ExecutionResult> {
  const errors: GraphQLError[] = [];
  const extensions = {};
  const parts = Symbol.asyncIterator in result ? result : [result];
  for await (const part of parts) {
    errors.push(...errorsOf(part));
    Object.assign(extensions, part.extensions);
  }
  // A field that fails ends what is around it, and not what is under way there.
  await receipt.idle();
  const telling = withoutRepeats(errors.filter(isOfRequest));
  return {
    data: null,
    ...(telling.length > 0 ? { errors: telling } : {}),
    extensions: { ...extensions, plan: dryRun.plan },
  };
}

/** The errors in a part of a response, in any format. */
function errorsOf({ errors = [], incremental = [] }: Part): readonly GraphQLError[] {
  return [...errors, ...incremental.flatMap((each) => each.errors ?? [])];
}

/** Each error at its first occurrence: there are no data whose absence the others would explain. */
function withoutRepeats(errors: readonly GraphQLError[]): GraphQLError[] {
  const distinct = new Map<string, GraphQLError>();
  for (const error of errors) {
    if (distinct.size === MOST_ERRORS) break;
    if (!distinct.has(error.message)) distinct.set(error.message, error);
  }
  return [...distinct.values()];
}
