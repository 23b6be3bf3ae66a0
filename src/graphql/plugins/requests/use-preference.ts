import type { Callers } from '../../../http/door/caller.ts';
import type { GatewayPlugin } from '../../request-record.ts';

/** Answers a preferred wait with the one that was applied, as `Preference-Applied`. */
export function usePreference(callers: Callers): GatewayPlugin {
  return {
    onResponse({ request, response, serverContext }) {
      // A request that was not admitted has not waited.
      if (!serverContext.record.viewer) return;
      const applied = callers.preferenceApplied(request.headers.get('prefer'));
      if (applied !== null) response.headers.set('Preference-Applied', applied);
    },
  };
}
