import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Receipt } from '../upstream/receipt.ts';

/** Tells with every answer what it cost, as `extensions.upstream`. */
export function useReceipt(): Plugin {
  return {
    onExecute({ args }) {
      const { receipt } = args.contextValue as unknown as { readonly receipt: Receipt };
      return {
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result) return;
          const { extensions } = result as ExecutionResult;
          setResult({ ...result, extensions: { ...extensions, upstream: receipt.summary } });
        },
      };
    },
  };
}
