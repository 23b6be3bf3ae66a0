import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { BadUserInput } from '../../errors.ts';

/**
 * Calls a multipart request that cannot be read what it is, the caller's mistake: the library's reader
 * knows some of its faults, and trips over the others.
 */
export function useMultipartFaults(): Plugin {
  return {
    onRequestParse({ request, requestParser, setRequestParser }) {
      const multipart = /^multipart\/form-data\b/i.test(request.headers.get('content-type') ?? '');
      if (!requestParser || !multipart) return;
      setRequestParser(async (body) => {
        try {
          return await requestParser(body);
        } catch (error) {
          if (error instanceof GraphQLError) throw error;
          throw new BadUserInput(
            'The multipart request cannot be read: `operations` must be a JSON object and `map` one of lists of paths in it.',
          );
        }
      });
    },
  };
}
