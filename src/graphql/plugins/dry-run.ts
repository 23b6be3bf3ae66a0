import type { ExecutionResult, GraphQLError } from 'graphql';
import type { DryRun } from '../../upstream/dry-run/dry-run.ts';
import type { Receipt } from '../../upstream/receipt.ts';
import { isOfRequest } from '../mask-error.ts';

/** Maximum number of errors in the response to a dry run, without repetitions. */
const MOST_ERRORS = 20;

/** A response, or a part of an incremental one. */
type Part = ExecutionResult & { readonly incremental?: readonly ExecutionResult[] };

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
