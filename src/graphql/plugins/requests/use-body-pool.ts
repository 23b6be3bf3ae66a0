import { type BodyLimits, bodyLimit, bytesRead } from '../../../http/door/body/body-limit.ts';
import type { BodyPool } from '../../../http/door/body/body-pool.ts';
import type { GatewayPlugin } from '../../request-record.ts';
import { viewerOf } from './use-authentication.ts';

/**
 * Holds room for the body of a request until its answer ends; a body of unknown length counts as the largest while
 * it is read, and then as what it was. A live query keeps nothing of its request, and gives the room back when its
 * stream begins.
 */
export function useBodyPool(pool: BodyPool, limits: BodyLimits): GatewayPlugin {
  return {
    onRequestParse({ request, serverContext: { record, res } }) {
      const { headers, method } = request;
      // What comes through `fetch` is in memory already, and who has hung up sends no more.
      if (!res || res.destroyed || method !== 'POST') return undefined;
      const announced = headers.get('content-length');
      const bytes =
        announced === null ? bodyLimit(headers.get('content-type'), limits) : Number(announced);
      const hold = pool.take(viewerOf(record).name, bytes);
      res.once('close', () => hold(0));
      record.letGoOfBody = () => hold(0);
      return { onRequestParseDone: () => hold(bytesRead(request) ?? bytes) };
    },
  };
}
