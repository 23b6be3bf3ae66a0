import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core';
import { DirectiveLocation, GraphQLDirective, GraphQLInt, GraphQLList } from 'graphql';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      semanticNonNull: SemanticNonNullPlugin<Types>;
    }

    export interface FieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      ParentShape = unknown,
      Type extends TypeParam<Types> = TypeParam<Types>,
      Nullable extends FieldNullability<Type> = FieldNullability<Type>,
      Args extends InputFieldMap = InputFieldMap,
      ResolveShape = unknown,
      ResolveReturnShape = unknown,
    > {
      /** Never null without an error at its path: marked with `@semanticNonNull`. */
      semanticNonNull?: boolean;
    }
  }
}

/** Marks a field that is null only with an error. Relay, Apollo's clients and code generators read it. */
export const semanticNonNullDirective = new GraphQLDirective({
  name: 'semanticNonNull',
  description:
    'This field is null only if an error with its path is in `errors`. Clients that handle errors separately can treat it as non-null.',
  locations: [DirectiveLocation.FIELD_DEFINITION],
  args: {
    levels: {
      type: new GraphQLList(GraphQLInt),
      description: 'Levels that are non-null: 0 for the field itself, 1 for the items of its list.',
      defaultValue: [0],
    },
  },
});

/** Adds the directive to each field with the option, and a sentence to the field's description. */
class SemanticNonNullPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    config: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    if (!config.pothosOptions.semanticNonNull) return config;
    return {
      ...config,
      description:
        `${config.description ?? ''} Null only if \`errors\` contains an error for it.`.trim(),
      // GraphQL tools read the directives of a schema that was not parsed from text here.
      extensions: { ...config.extensions, directives: { [semanticNonNullDirective.name]: {} } },
    };
  }
}

/** The name to put into the builder's list of plugins. */
export const semanticNonNullPlugin = 'semanticNonNull';

SchemaBuilder.registerPlugin(semanticNonNullPlugin, SemanticNonNullPlugin);
