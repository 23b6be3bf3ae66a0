import type { Viewer } from '../../../auth/viewer.ts';
import type { GatewayPlugin, RequestRecord } from '../../request-record.ts';

/** Settles who sent a request before its body is read, so that refusing costs nothing more. */
export function useAuthentication(): GatewayPlugin {
  return {
    onRequestParse({ serverContext: { record } }) {
      const viewer = record.admission.identify();
      if (viewer instanceof Promise) return settle(record, viewer);
      // At once where that can be: a promise would cost every request a turn.
      record.viewer = viewer;
      return undefined;
    },
  };
}

async function settle(record: RequestRecord, viewer: Promise<Viewer>): Promise<void> {
  record.viewer = await viewer;
}

/**
 * Who sent an authenticated request.
 * @throws TypeError for any other: a way past the check is a fault, and not an anonymous caller.
 */
export function viewerOf({ viewer }: RequestRecord): Viewer {
  if (!viewer) throw new TypeError('a request was not authenticated');
  return viewer;
}
