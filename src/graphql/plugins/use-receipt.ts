import type { ExecutionResult } from 'graphql';
import type { Receipt } from '../../upstream/receipt.ts';
import type { GatewayPlugin } from '../request-record.ts';

/** A part of an answer that is delivered in parts, as `@defer` and `@stream` make it. */
type Part = ExecutionResult & { readonly hasNext?: boolean };

/** Adds what an answer cost as `extensions.upstream`: to its last part, if it has several. */
export function useReceipt(): GatewayPlugin {
  return {
    onExecute({ args }) {
      const { receipt } = args.contextValue;
      return {
        onExecuteDone({ result, setResult }) {
          if (Symbol.asyncIterator in result) {
            setResult(withLastReceipt(result as AsyncIterable<Part>, receipt));
          } else {
            setResult(withReceipt(result, receipt));
          }
        },
      };
    },
  };
}

function withReceipt(part: Part, receipt: Receipt): Part {
  return { ...part, extensions: { ...part.extensions, upstream: receipt.summary } };
}

async function* withLastReceipt(
  parts: AsyncIterable<Part>,
  receipt: Receipt,
): AsyncGenerator<Part> {
  for await (const part of parts) {
    yield part.hasNext === false ? withReceipt(part, receipt) : part;
  }
}
