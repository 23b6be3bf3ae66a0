import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { type AtOnce, andThen } from '../../scheduling/at-once.ts';
import { encodeGlobalId } from './global-id.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      globalIds: GlobalIdPlugin<Types>;
    }
  }
}

/** The options of a type with `node` lookup that are used here. */
interface NodeOptions {
  /** Returns the id of a row: synchronously, unless it requires a request. */
  readonly id?: { readonly resolve?: GraphQLFieldResolver<unknown, unknown, object> };
}

/**
 * Creates the global id of a row synchronously if it is known: the relay plugin creates a promise for every row.
 */
class GlobalIdPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    config: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    if (config.name !== 'id') return config;
    const { name, pothosOptions } = this.builder.configStore.getTypeConfig(config.parentType);
    const idOf = (pothosOptions as NodeOptions).id?.resolve;
    if (!idOf) return config;
    return {
      ...config,
      resolve: (...all) => {
        const id = idOf(...all) as AtOnce<string | number>;
        return andThen(id, (known) => encodeGlobalId(name, known));
      },
    };
  }
}

/** The name to put into the builder's list of plugins. */
export const globalIdPlugin = 'globalIds';

SchemaBuilder.registerPlugin(globalIdPlugin, GlobalIdPlugin);
