import type { ExecutionResult } from 'graphql';
import { GatewayError } from '../../errors.ts';
import type { GatewayPlugin } from './request-record.ts';

/** The header that asks for the price of an operation instead of its answer. */
export const dryRunHeader = 'x-gateway-dry-run';

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
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result) return;
          const { errors, extensions } = result as ExecutionResult;
          const telling = errors?.filter(
            ({ originalError }) => originalError instanceof GatewayError,
          );
          setResult({
            data: null,
            ...(telling && telling.length > 0 ? { errors: telling } : {}),
            extensions: { ...extensions, plan: dryRun.plan },
          });
        },
      };
    },
  };
}
