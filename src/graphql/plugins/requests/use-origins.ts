import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention';
import { GatewayError } from '../../../errors.ts';
import { PREFLIGHT_HEADERS } from '../../../http/door/foreign-page.ts';
import type { GatewayPlugin } from '../../request-record.ts';

/**
 * Applies what the door has decided about origins to GraphQL over HTTP. It also refuses with `FORBIDDEN` a form or
 * plain text without one of the headers that cause a preflight: a page of any origin can send those.
 */
export function useOrigins(): GatewayPlugin {
  const prevention = useCSRFPrevention({ requestHeaders: [...PREFLIGHT_HEADERS] });
  return {
    onRequest(payload) {
      const { fetchAPI, request, serverContext } = payload;
      if (request.method !== 'OPTIONS') return;
      const { admission } = serverContext.record;
      const preflight = admission.preflightHeaders('GET, POST');
      if (!admission.allowsOthers) return;
      // Safari waits for a body unless a header says that there is none.
      const headers = { ...preflight, 'Content-Length': '0' };
      payload.endResponse(new fetchAPI.Response(null, { status: 204, headers }));
    },
    onRequestParse(payload) {
      if (payload.request.method === 'GET') {
        const refusal = payload.serverContext.record.admission.getRefusal;
        if (refusal) throw refusal;
        return undefined;
      }
      try {
        return prevention.onRequestParse?.(payload);
      } catch (cause) {
        throw new GatewayError(
          'FORBIDDEN',
          'Send the operation as "Content-Type: application/json", or add the header "Apollo-Require-Preflight: true".',
          { cause },
        );
      }
    },
    onResponse({ response, serverContext }) {
      const cors = serverContext.record.admission.origin.headers;
      for (let at = 0; at < cors.length; at += 2) {
        response.headers.append(cors[at] ?? '', cors[at + 1] ?? '');
      }
    },
  };
}
