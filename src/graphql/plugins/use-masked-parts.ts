import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { MaskError } from '../mask-error.ts';

/** One of the parts in which `@defer` and `@stream` deliver an answer; or what arrives in one. */
type Part = ExecutionResult & {
  readonly incremental?: readonly ExecutionResult[];
  readonly completed?: readonly Pick<ExecutionResult, 'errors'>[];
};

/**
 * Masks the errors of every part of an answer. Yoga masks those at the top of a part only, and the plugins
 * behind this one are to see what the caller will.
 */
export function useMaskedParts(maskError: MaskError): Plugin {
  const mask = <P extends Pick<ExecutionResult, 'errors'>>(part: P): P =>
    part.errors ? { ...part, errors: part.errors.map((error) => maskError(error)) } : part;
  const maskAll = ({ incremental, completed, ...rest }: Part): Part => ({
    ...mask(rest),
    ...(incremental ? { incremental: incremental.map(mask) } : {}),
    ...(completed ? { completed: completed.map(mask) } : {}),
  });
  return {
    onExecute: () => ({
      onExecuteDone: ({ result }) =>
        Symbol.asyncIterator in result
          ? { onNext: ({ result: part, setResult }) => setResult(maskAll(part)) }
          : undefined,
    }),
  };
}
