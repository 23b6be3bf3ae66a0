import type { Callers } from '../../../http/door/caller.ts';
import type { GatewayPlugin } from '../../request-record.ts';

/** Tells who preferred a wait which one was in force, as `Preference-Applied`. */
export function usePreference(callers: Callers): GatewayPlugin {
  return {
    onResponse({ request, response, serverContext }) {
      // Whoever was not let in has waited for nothing.
      if (!serverContext.record.viewer) return;
      const applied = callers.preferenceApplied(request.headers.get('prefer'));
      if (applied !== null) response.headers.set('Preference-Applied', applied);
    },
  };
}
