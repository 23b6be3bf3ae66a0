import type { ExecutionResult, GraphQLError } from 'graphql';
import { GatewayError } from '../../errors.ts';
import type { DryRun } from '../../upstream/dry-run/dry-run.ts';
import type { Receipt } from '../../upstream/receipt.ts';

/** Complaints that the answer to a dry run has at most, each of them once. */
const MOST_ERRORS = 20;

/** An answer, or a part of one that is delivered in parts. */
type Part = ExecutionResult & { readonly incremental?: readonly ExecutionResult[] };

/**
 * The answer to a dry run: `extensions.plan` and no data. Complaints about the request itself stay; those that only
 * come of its not being sent are left out.
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
  const telling = withoutRepeats(
    errors.filter(({ originalError }) => originalError instanceof GatewayError),
  );
  return {
    data: null,
    ...(telling.length > 0 ? { errors: telling } : {}),
    extensions: { ...extensions, plan: dryRun.plan },
  };
}

/** The complaints in a part of an answer, whatever form it has. */
function errorsOf({ errors = [], incremental = [] }: Part): readonly GraphQLError[] {
  return [...errors, ...incremental.flatMap((each) => each.errors ?? [])];
}

/** Each complaint where it came up first: there are no data whose absence the others would explain. */
function withoutRepeats(errors: readonly GraphQLError[]): GraphQLError[] {
  const distinct = new Map<string, GraphQLError>();
  for (const error of errors) {
    if (distinct.size === MOST_ERRORS) break;
    if (!distinct.has(error.message)) distinct.set(error.message, error);
  }
  return [...distinct.values()];
}
