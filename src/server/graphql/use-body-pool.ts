import { type BodyLimits, bodyLimit } from '../door/body-limit.ts';
import type { BodyPool } from '../door/body-pool.ts';
import type { GatewayPlugin } from './request-record.ts';
import { viewerOf } from './use-authentication.ts';

/** Holds room for the body of a request until it is answered; a body of unknown length counts as the largest. */
export function useBodyPool(pool: BodyPool, limits: BodyLimits): GatewayPlugin {
  return {
    onRequestParse({ request: { headers, method }, serverContext: { record, res } }) {
      // What comes through `fetch` is in memory already, and who has hung up sends no more.
      if (!res || res.destroyed || method !== 'POST') return;
      const announced = headers.get('content-length');
      const bytes =
        announced === null ? bodyLimit(headers.get('content-type'), limits) : Number(announced);
      res.once('close', pool.take(viewerOf(record).name, bytes));
    },
  };
}
