import { BadUserInput } from '../../errors.ts';
import { isMultipart } from '../../http/door/body/body-limit.ts';
import type { GatewayPlugin } from '../request-record.ts';

/** Errors in the answer to a list of operations, however long the list was. */
const MAX_ERRORS = 50;

/**
 * Refuses a list of operations with `BAD_USER_INPUT`, before any of them is looked at. The answer is a
 * list too, with one error for each operation, since clients that send batches read nothing else.
 * The status is that of a request that makes no sense, 400, for clients that accept
 * `application/graphql-response+json`; for the others 200, as they read no other body.
 */
export function useBatchRefusal(): GatewayPlugin {
  return {
    onRequestParse({ request, serverContext: { record } }) {
      // No client sends files in batches: a multipart request is refused like any other that is wrong.
      if (isMultipart(request.headers.get('content-type'))) return undefined;
      return {
        onRequestParseDone({ requestParserResult }) {
          if (!Array.isArray(requestParserResult)) return;
          record.batch = requestParserResult.length;
          throw new BadUserInput('A request holds one operation, not a list of them.');
        },
      };
    },
    onResultProcess(payload) {
      const { result, serverContext } = payload;
      const { batch } = serverContext.record;
      if (batch === null || Symbol.asyncIterator in result || Array.isArray(result)) return;
      const length = Math.min(Math.max(batch, 1), MAX_ERRORS);
      payload.setResult(Array.from({ length }, () => result));
    },
    onResponse(payload) {
      const { response, serverContext } = payload;
      const { headers } = response;
      if (serverContext.record.batch === null) return;
      if (!headers.get('content-type')?.startsWith('application/graphql-response+json')) return;
      payload.setResponse(new Response(response.body, { status: 400, headers }));
    },
  };
}
