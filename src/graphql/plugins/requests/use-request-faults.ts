import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { BadUserInput, GatewayError } from '../../../errors.ts';
import { isMultipart } from '../../../http/door/body/body-limit.ts';
import { envelopeFault, isObject } from '../../../http/door/envelope.ts';

/**
 * Answers `BAD_USER_INPUT` to a request that holds no operation, where the library's parsers would fail
 * in ways of their own: `variables` or `extensions` that are no JSON, in a query string or a form;
 * parameters that are `null` or of another kind; and a multipart request whose parts do not fit together.
 */
export function useRequestFaults(): Plugin {
  return {
    onRequestParse({ request, requestParser, setRequestParser }) {
      if (!requestParser) return;
      const multipart = isMultipart(request.headers.get('content-type'));
      setRequestParser(async (body) => {
        let parsed: Awaited<ReturnType<typeof requestParser>> | null;
        try {
          parsed = await requestParser(body);
        } catch (error) {
          throw multipart ? multipartFault(error) : parameterFault(error);
        }
        if (typeof parsed !== 'object' || parsed === null) {
          throw new BadUserInput('An operation must be a JSON object.');
        }
        const fault = isObject(parsed) ? envelopeFault(parsed) : null;
        if (fault !== null) throw new BadUserInput(fault);
        return parsed;
      });
    },
  };
}

/** A body that is no form, or ends too early, fails with words of the library's. */
function multipartFault(error: unknown): unknown {
  if (error instanceof GraphQLError || error instanceof GatewayError) return error;
  return new BadUserInput(
    'The multipart request cannot be read: its parts must be `operations`, `map` and at most ten files.',
  );
}

function parameterFault(error: unknown): unknown {
  if (!(error instanceof SyntaxError)) return error;
  return new BadUserInput('`variables` and `extensions` must be JSON.');
}
