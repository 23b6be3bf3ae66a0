import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import type { GraphContext } from '../context.ts';
import { keyedLinks } from './keyed-fields.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      mutationFields: MutationFieldsPlugin<Types>;
    }
  }
}

/**
 * What every mutation field does before its own resolver: the messages of upstreams name it in `extensions.messages`,
 * and it writes under its idempotency key, if it has one.
 */
class MutationFieldsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { name, parentType }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (parentType !== 'Mutation') return resolve;
    return (parent, args, context, info) => {
      const responseName = String(info.path.key);
      const { keyed, links, receipt, viewer } = context as GraphContext;
      receipt.messages.begin([responseName]);
      const key = keyed?.keyOf(responseName);
      if (!keyed || !key) return resolve(parent, args, context, info);
      const write = {
        key,
        viewer,
        links,
        mutation: name,
        input: args,
        report: keyed.add.bind(keyed, responseName),
      };
      return keyedLinks(write).then((own) =>
        resolve(parent, args, { ...context, links: own }, info),
      );
    };
  }
}

/** The name to put into the builder's list of plugins. */
export const mutationFieldsPlugin = 'mutationFields';

SchemaBuilder.registerPlugin(mutationFieldsPlugin, MutationFieldsPlugin);
