import type { Config } from '../config/config.ts';
import type { OwnKeys } from '../config/own-key.ts';
import type { UpstreamName } from '../errors.ts';
import { callerInClass, type QuotaUse } from '../upstream/budget/law/callers.ts';
import type { Client } from '../upstream/client.ts';

/** The limit of a class of callers for one upstream, and what of it is used. */
export interface ClassQuota extends QuotaUse {
  readonly upstream: UpstreamName;
  readonly callerClass: string;
}

/** The classes of callers, and whether these have keys of their own. */
type ClassConfig = Pick<Config, 'callerClasses'> & {
  readonly auth: Pick<Config['auth'], 'mode'>;
  readonly links: Pick<Config['links'], 'classes'>;
};

/** Any caller of a class: all of them share its limits. */
const ANYONE = '';

/**
 * The limits of all classes that have one, for the gateway's own key; for the key with the most requests of the class
 * if callers have keys of their own. The class of agents is among them if it is configured, or has requests that count.
 * For display; costs no upstream request.
 */
export function classQuotas(
  { auth, callerClasses, links }: ClassConfig,
  clients: readonly Client[],
  keys: OwnKeys,
): ClassQuota[] {
  const limited = [...links.classes].filter(([, rules]) => rules.maxCallsPerMinute !== null);
  return clients.flatMap(({ budgets, upstream }) => {
    const inUse = auth.mode === 'passthrough' ? [...budgets] : [];
    const shown = inUse.length > 0 ? inUse : [budgets.lookAt(keys[upstream].credential)];
    return limited.flatMap(([callerClass]) => {
      const anyone = callerInClass(ANYONE, callerClass);
      const uses = shown.flatMap((budget) => budget.quotaOf(anyone) ?? []);
      const [most] = uses.toSorted((one, other) => other.used - one.used);
      const isShown = most && (most.used > 0 || callerClasses.has(callerClass));
      return isShown ? { ...most, upstream, callerClass } : [];
    });
  });
}
