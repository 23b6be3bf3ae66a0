import type { Viewer } from '../auth/viewer.ts';
import type { Config } from '../config/config.ts';
import { GatewayError } from '../errors.ts';

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

/**
 * Resolves for a caller who may ask for the schema. `accepted` resolves for one whose own key the link-management API
 * accepts: 0 or 1 upstream request.
 * @throws GatewayError `FORBIDDEN` where the schema is withheld; and what `accepted` rejects with.
 */
export async function requireSchemaAccess(
  viewer: Viewer,
  access: SchemaAccess,
  accepted: (viewer: Viewer) => Promise<void>,
): Promise<void> {
  if (access === 'none') throw new GatewayError('FORBIDDEN', SCHEMA_WITHHELD);
  if (access === 'accepted') await accepted(viewer);
}
