import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  type PothosTypeConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { forbidden, mayAct, type Role, requireRole, type Viewer } from '../auth/viewer.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      access: AccessPlugin<Types>;
    }
  }
}

/**
 * The role that each root field takes, and each type whose rows are not for everybody, wherever they
 * appear. A root field that is missing here takes an admin, and fails a test until it is added.
 */
export const access: Readonly<Record<string, Role>> = {
  'Query.node': 'viewer',
  'Query.nodes': 'viewer',
  'Query.account': 'viewer',
  'Query.domains': 'viewer',
  'Query.overlays': 'viewer',
  'Query.campaigns': 'viewer',
  'Query.campaign': 'viewer',
  'Query.channels': 'viewer',
  'Query.channel': 'viewer',
  'Query.splashPages': 'viewer',
  'Query.files': 'viewer',
  'Query.pixels': 'viewer',
  'Query.qrCodes': 'viewer',
  'Query.qrCode': 'viewer',
  'Query.plans': 'admin',
  'Query.users': 'admin',
  'Query.user': 'admin',
  'Query.seller': 'viewer',
  'Query.items': 'viewer',
  'Query.item': 'viewer',
  'Query.purchase': 'viewer',
  'Query.rateLimit': 'viewer',
  'Mutation.updateAccount': 'editor',
  'Mutation.createDomain': 'editor',
  'Mutation.updateDomain': 'editor',
  'Mutation.deleteDomain': 'editor',
  'Mutation.createCampaign': 'editor',
  'Mutation.updateCampaign': 'editor',
  'Mutation.deleteCampaign': 'editor',
  'Mutation.assignLinkToCampaign': 'editor',
  'Mutation.createChannel': 'editor',
  'Mutation.updateChannel': 'editor',
  'Mutation.deleteChannel': 'editor',
  'Mutation.assignItemToChannel': 'editor',
  'Mutation.uploadFile': 'editor',
  'Mutation.createPixel': 'editor',
  'Mutation.updatePixel': 'editor',
  'Mutation.deletePixel': 'editor',
  'Mutation.createQrCode': 'editor',
  'Mutation.updateQrCode': 'editor',
  'Mutation.deleteQrCode': 'editor',
  'Mutation.subscribeUser': 'admin',
  'Mutation.createUser': 'admin',
  'Mutation.deleteUser': 'admin',
  'Mutation.createLoginUrl': 'admin',
  Plan: 'admin',
  User: 'admin',
};

/** All root types that GraphQL knows: one that the table does not have takes an admin. */
const ROOTS = new Set(['Query', 'Mutation', 'Subscription']);

/** The role that a field takes by itself; `null` where the role for its parent suffices. */
function roleFor(parent: string, field: string): Role | null {
  return (
    access[`${parent}.${field}`] ?? (ROOTS.has(parent) ? 'admin' : null) ?? access[parent] ?? null
  );
}

/** The scopes of one operation, by which the scope plugin checks the viewer's role. */
export function accessScopes({ viewer }: { readonly viewer: Viewer }): {
  readonly role: (needed: Role) => boolean;
} {
  return { role: (needed) => mayAct(viewer, needed) };
}

/** The error of a field that the scope plugin refuses. */
export function refuseField(
  _parent: unknown,
  { viewer }: { readonly viewer: Viewer },
  { parentType, fieldName }: GraphQLResolveInfo,
): Error {
  return forbidden(
    viewer,
    roleFor(parentType.name, fieldName) ?? 'admin',
    `${parentType.name}.${fieldName}`,
  );
}

/**
 * Checks the viewer's role before a row of a type is read by its global id.
 * @throws GatewayError `FORBIDDEN`.
 */
export function requireType(viewer: Viewer, typename: string): void {
  const role = access[typename];
  if (role) requireRole(viewer, role, `Finding a ${typename} by its id`);
}

/**
 * Applies the table to the schema: one place, so that no noun can forget it. Each field gets what the
 * scope plugin checks before it resolves, and a sentence in its description.
 */
class AccessPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    config: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    const role = roleFor(config.parentType, config.name);
    if (!role) return config;
    return {
      ...config,
      description: `${config.description ?? ''} Takes the role ${role}.`.trim(),
      pothosOptions: { ...config.pothosOptions, authScopes: { role } },
    } as PothosOutputFieldConfig<Types>;
  }

  override onTypeConfig(config: PothosTypeConfig): PothosTypeConfig {
    const role = access[config.name];
    if (!role) return config;
    return {
      ...config,
      description: `${config.description ?? ''} Takes the role ${role}.`.trim(),
    };
  }
}

/** The name to put into the builder's list of plugins, before the scope plugin's. */
export const accessPlugin = 'access';

SchemaBuilder.registerPlugin(accessPlugin, AccessPlugin);
