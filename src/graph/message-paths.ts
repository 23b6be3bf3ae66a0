import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import type { GraphContext } from './context.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      messagePaths: MessagePathsPlugin<Types>;
    }
  }
}

/** Lets the messages of upstreams name the mutation field that they are about, for `extensions.messages`. */
class MessagePathsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { parentType }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (parentType !== 'Mutation') return resolve;
    return (parent, args, context, info) => {
      (context as GraphContext).receipt.messages.begin([String(info.path.key)]);
      return resolve(parent, args, context, info);
    };
  }
}

/** The name to put into the builder's list of plugins. */
export const messagePathsPlugin = 'messagePaths';

SchemaBuilder.registerPlugin(messagePathsPlugin, MessagePathsPlugin);
