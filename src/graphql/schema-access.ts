import type { Config } from '../config/config.ts';

/**
 * Which of the callers who may ask for data may also ask for the schema: all of them, those whose own key the
 * link-management API has accepted, or none.
 */
export type SchemaAccess = 'all' | 'accepted' | 'none';

/** The message if introspection is disabled. */
export const SCHEMA_WITHHELD =
  'Introspection is disabled. The operator can enable it with INTROSPECTION=on.';

/** Who may ask for the schema by the settings. A caller without a valid token is refused before that is asked. */
export function schemaAccess({
  auth,
  introspection,
}: Pick<Config, 'auth' | 'introspection'>): SchemaAccess {
  if (introspection === 'on') return 'all';
  // Without authentication no caller is known, and everyone can make up a key.
  if (introspection === 'off' || auth.mode === 'none') return 'none';
  return auth.mode === 'passthrough' ? 'accepted' : 'all';
}
