import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../../errors.ts';
import type { Rehearsal } from '../../upstream/dry-run.ts';

/** The header that asks for the price of an operation instead of its answer. */
export const dryRunHeader = 'x-gateway-dry-run';

/**
 * Answers a dry run with `extensions.plan` and no data. Complaints about the request itself stay;
 * those that only come of its not being sent are left out.
 */
export function useDryRun(): Plugin {
  return {
    onExecute({ args }) {
      const { rehearsal } = args.contextValue as unknown as { readonly rehearsal?: Rehearsal };
      if (!rehearsal) return undefined;
      return {
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result) return;
          const { errors, extensions } = result as ExecutionResult;
          const telling = errors?.filter(
            ({ originalError }) => originalError instanceof GatewayError,
          );
          setResult({
            data: null,
            ...(telling && telling.length > 0 ? { errors: telling } : {}),
            extensions: { ...extensions, plan: rehearsal.plan },
          });
        },
      };
    },
  };
}
