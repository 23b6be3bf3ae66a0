import type { AuthConfig } from '../auth/authenticate.ts';
import type { EnvironmentReader } from './environment.ts';

/** Names for `HISTORY_WATCH`, which are those of fields of `Query`: the first are of the marketplace API. */
const MARKET_LISTS = ['items', 'seller'];
const HISTORY_LISTS = [
  ...MARKET_LISTS,
  'campaigns',
  'channels',
  'domains',
  'files',
  'overlays',
  'pixels',
  'plans',
  'qrCodes',
  'splashPages',
  'users',
];

/** The lists of `HISTORY_WATCH`. Those that cannot be read in this mode are faults. */
export function readHistoryWatch(reader: EnvironmentReader, mode: AuthConfig['mode']): string[] {
  const names = reader
    .text('HISTORY_WATCH')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  for (const name of names) {
    if (!HISTORY_LISTS.includes(name)) {
      reader.fault(
        `HISTORY_WATCH names ${name}, which is not a list. Use ${HISTORY_LISTS.toSorted().join(', ')}.`,
      );
    } else if (mode === 'passthrough' && !MARKET_LISTS.includes(name)) {
      reader.fault(
        `HISTORY_WATCH names ${name}, but with AUTH_MODE=passthrough the gateway has no API key to read it. Remove it.`,
      );
    }
  }
  return names;
}
