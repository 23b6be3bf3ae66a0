import { holdsETag } from '../../http/door/etag.ts';
import type { GatewayPlugin } from '../request-record.ts';

/**
 * Lets browsers cache the answer to a GET privately and revalidate it (`ETag`) before they reuse it, and
 * tells how old the oldest thing in it is (`Age`, in seconds). An answer that the browser already has
 * is a 304. The tag depends on data and errors, and not on what the operation cost. Every other answer
 * is `no-store`, among them each that holds secrets.
 * Implements: RFC 9111 section 5.1, RFC 9110 section 8.8.3.
 */
export function useHttpCaching(): GatewayPlugin {
  return {
    onExecute({ args }) {
      const { dryRun, receipt, record, request } = args.contextValue;
      // A dry run has no data: a tag of those that it was made from would tell of them.
      if (request.method !== 'GET' || dryRun || record.holdsSecrets) return undefined;
      return {
        onExecuteDone({ result }) {
          if (Symbol.asyncIterator in result) return;
          record.ageSeconds = Math.floor(receipt.summary.maxAgeMs / 1000);
        },
      };
    },
    onResponse(payload) {
      const { fetchAPI, request, response, serverContext } = payload;
      const { ageSeconds, json } = serverContext.record;
      if (ageSeconds === null) {
        if (request.method !== 'OPTIONS') response.headers.set('Cache-Control', 'no-store');
        return;
      }
      const { headers } = response;
      headers.set('Cache-Control', 'private, no-cache');
      headers.set('Age', String(ageSeconds));
      headers.append('Vary', 'Accept, Authorization');
      if (response.status !== 200 || !json) return;
      headers.set('ETag', json.etag);
      if (holdsETag(request.headers.get('if-none-match'), json.etag)) {
        headers.delete('Content-Type');
        headers.delete('Content-Length');
        payload.setResponse(new fetchAPI.Response(null, { status: 304, headers }));
      }
    },
  };
}
