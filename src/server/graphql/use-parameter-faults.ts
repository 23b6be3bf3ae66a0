import type { Plugin } from 'graphql-yoga';
import { BadUserInput } from '../../errors.ts';

/**
 * Calls what is no operation the caller's mistake: `variables` or `extensions` that are no JSON, in a query
 * string or a form, and parameters that are `null`. The library reads both without expecting them.
 */
export function useParameterFaults(): Plugin {
  return {
    onRequestParse({ requestParser, setRequestParser }) {
      if (!requestParser) return;
      setRequestParser(async (request) => {
        let parsed: Awaited<ReturnType<typeof requestParser>> | null;
        try {
          parsed = await requestParser(request);
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
          throw new BadUserInput('`variables` and `extensions` must be JSON.');
        }
        if (typeof parsed !== 'object' || parsed === null) {
          throw new BadUserInput('An operation must be a JSON object.');
        }
        return parsed;
      });
    },
  };
}
