import type { ExecutionResult, GraphQLError } from 'graphql';
import { GatewayError } from '../../errors.ts';
import type { GatewayPlugin } from './request-record.ts';

/** The header that asks for the price of an operation instead of its answer. */
export const dryRunHeader = 'x-gateway-dry-run';

/** An answer, or a part of one that is delivered in parts. */
type Part = ExecutionResult & { readonly incremental?: readonly ExecutionResult[] };

/**
 * Answers a dry run with `extensions.plan` and no data. Complaints about the request itself stay;
 * those that only come of its not being sent are left out.
 */
export function useDryRun(): GatewayPlugin {
  return {
    onExecute({ args }) {
      const { dryRun } = args.contextValue;
      if (!dryRun) return undefined;
      return {
        async onExecuteDone({ result, setResult }) {
          const errors: GraphQLError[] = [];
          const extensions = { plan: dryRun.plan };
          const parts = Symbol.asyncIterator in result ? result : [result];
          for await (const part of parts as AsyncIterable<Part>) {
            errors.push(...errorsOf(part));
            Object.assign(extensions, part.extensions, { plan: dryRun.plan });
          }
          const telling = errors.filter(
            ({ originalError }) => originalError instanceof GatewayError,
          );
          setResult({
            data: null,
            ...(telling.length > 0 ? { errors: telling } : {}),
            extensions,
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
