import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  type PothosTypeConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { type Role, requireRole, type Viewer } from '../auth/viewer.ts';
import type { GraphContext } from './context.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      access: AccessPlugin<Types>;
    }
  }
}

/**
 * The role required by each root field, and by each restricted type wherever it appears. A root field that is
 * missing here requires an admin, and fails a test until it is added.
 */
export const access: Readonly<Record<string, Role>> = {
  'Query.node': 'viewer',
  'Query.nodes': 'viewer',
  'Query.account': 'viewer',
  'Query.domains': 'viewer',
  'Query.domain': 'viewer',
  'Query.overlays': 'viewer',
  'Query.overlay': 'viewer',
  'Query.campaigns': 'viewer',
  'Query.campaign': 'viewer',
  'Query.channels': 'viewer',
  'Query.channel': 'viewer',
  'Query.splashPages': 'viewer',
  'Query.splashPage': 'viewer',
  'Query.files': 'viewer',
  'Query.file': 'viewer',
  'Query.pixels': 'viewer',
  'Query.pixel': 'viewer',
  'Query.qrCodes': 'viewer',
  'Query.qrCode': 'viewer',
  'Query.plans': 'admin',
  'Query.plan': 'admin',
  'Query.users': 'admin',
  'Query.user': 'admin',
  'Query.seller': 'viewer',
  'Query.items': 'viewer',
  'Query.item': 'viewer',
  'Query.purchase': 'viewer',
  'Query.purchases': 'viewer',
  'Query.rateLimit': 'viewer',
  'Query.usage': 'admin',
  'Query.totalCountHistory': 'viewer',
  'Query.job': 'viewer',
  'Query.jobs': 'viewer',
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
  'Mutation.startExport': 'viewer',
  'Mutation.cancelJob': 'viewer',
  'Mutation.pauseJob': 'viewer',
  'Mutation.resumeJob': 'viewer',
  'Mutation.subscribeUser': 'admin',
  'Mutation.createUser': 'admin',
  'Mutation.deleteUser': 'admin',
  'Mutation.createLoginUrl': 'admin',
  // They read what only administrators may see.
  'Account.plan': 'admin',
  'Account.usage': 'admin',
  Plan: 'admin',
  User: 'admin',
};

/** All root types of GraphQL: one that is missing in the table requires an admin. */
const ROOTS = new Set(['Query', 'Mutation', 'Subscription']);

/** The role required by a field itself; `null` if the role for its parent suffices. */
function roleFor(parent: string, field: string): Role | null {
  return (
    access[`${parent}.${field}`] ?? (ROOTS.has(parent) ? 'admin' : null) ?? access[parent] ?? null
  );
}

/**
 * Checks the viewer's role before a row of a type is read by its global id.
 * @throws GatewayError `FORBIDDEN`.
 */
export function requireType(viewer: Viewer, typename: string): void {
  const role = access[typename];
  if (role) requireRole(viewer, role, `Looking up a ${typename} by its ID`);
}

/**
 * Applies the table to the schema in one place, so that no noun can omit it. Each restricted field checks the role
 * before it resolves (`FORBIDDEN`), and its description names the role.
 */
class AccessPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    config: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    const role = roleFor(config.parentType, config.name);
    if (!role) return config;
    return {
      ...config,
      description: withRole(config.description, role),
    };
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { name, parentType }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const role = roleFor(parentType, name);
    if (!role) return resolve;
    return (parent, args, context, info) => {
      requireRole((context as GraphContext).viewer, role, `${parentType}.${name}`);
      return resolve(parent, args, context, info);
    };
  }

  override onTypeConfig(config: PothosTypeConfig): PothosTypeConfig {
    const role = access[config.name];
    if (!role) return config;
    return {
      ...config,
      description: withRole(config.description, role),
    };
  }
}

/** Inserts a sentence about the role before the one about costs. */
function withRole(description: string | null | undefined, role: Role): string {
  const [before = '', ...costs] = (description ?? '').split(/ (?=Costs )/);
  return [before, `Requires role \`${role}\`.`, ...costs].join(' ').trim();
}

/** The name to put into the builder's list of plugins. */
export const accessPlugin = 'access';

SchemaBuilder.registerPlugin(accessPlugin, AccessPlugin);
