import type { ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql';
import { GatewayError } from '../../errors.ts';
import { schemaOfDryRuns } from '../fields-of-dry-run.ts';
import type { GatewayPlugin } from '../request-record.ts';

/** The header that asks for the price of an operation instead of its answer. */
export const dryRunHeader = 'x-gateway-dry-run';

/** Complaints that the answer to a dry run has at most, each of them once. */
const MOST_ERRORS = 20;

/**
 * Whether a value of the header asks for a dry run: every one does but those that plainly say no, since
 * a caller who meant one would spend what they wanted to know the price of.
 */
export function asksForDryRun(header: string | null | undefined): boolean {
  return !['', '0', 'false'].includes((header ?? '').trim().toLowerCase());
}

/** An answer, or a part of one that is delivered in parts. */
type Part = ExecutionResult & { readonly incremental?: readonly ExecutionResult[] };

/**
 * Answers a dry run with `extensions.plan` and no data. Complaints about the request itself stay;
 * those that only come of its not being sent are left out.
 */
export function useDryRun(): GatewayPlugin {
  let schema: GraphQLSchema | null = null;
  return {
    onExecute({ args }) {
      const { dryRun, receipt } = args.contextValue;
      if (!dryRun) return undefined;
      schema ??= schemaOfDryRuns(args.schema);
      args.schema = schema;
      return {
        async onExecuteDone({ result, setResult }) {
          const errors: GraphQLError[] = [];
          const extensions = {};
          const parts = Symbol.asyncIterator in result ? result : [result];
          for await (const part of parts as AsyncIterable<Part>) {
            errors.push(...errorsOf(part));
            Object.assign(extensions, part.extensions);
          }
          // A field that fails ends what is around it, and not what is under way there.
          await receipt.idle();
          const telling = withoutRepeats(
            errors.filter(({ originalError }) => originalError instanceof GatewayError),
          );
          setResult({
            data: null,
            ...(telling.length > 0 ? { errors: telling } : {}),
            extensions: { ...extensions, plan: dryRun.plan },
          });
        },
      };
    },
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
