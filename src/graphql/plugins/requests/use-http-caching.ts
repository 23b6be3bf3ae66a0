import { holdsETag, VARY_OF_GET } from '../../../http/door/headers/etag.ts';
import type { GatewayPlugin } from '../../request-record.ts';

/**
 * Lets browsers cache the answer to a GET privately and revalidate it (`ETag`) before they reuse it, and
 * states how old the oldest thing in it is (`Age`, in seconds). An answer that the browser already has
 * is a 304. The tag depends on data and errors, and not on what the operation cost: it is weak, and so
 * the same in every coding. Every other answer is `no-store`, and each that holds secrets `no-transform`
 * as well: neither the gateway nor a proxy may compress it.
 * Implements: RFC 9111 sections 5.1 and 5.2.2.6, RFC 9110 sections 8.8.1 and 8.8.3.
 */
export function useHttpCaching(): GatewayPlugin {
  return {
    onExecute({ args }) {
      const { dryRun, receipt, record, request } = args.contextValue;
      // A dry run has no data: a tag of those that it was made from would reveal something of them.
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
      const { ageSeconds, holdsSecrets, json } = serverContext.record;
      if (ageSeconds === null) {
        if (request.method === 'OPTIONS') return;
        // The length of a compressed body reveals secrets to a caller who controls some of the text beside them.
        response.headers.set('Cache-Control', holdsSecrets ? 'no-store, no-transform' : 'no-store');
        return;
      }
      const { headers } = response;
      headers.set('Cache-Control', 'private, no-cache');
      headers.set('Age', String(ageSeconds));
      headers.append('Vary', VARY_OF_GET);
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
