import { DirectiveLocation, GraphQLDirective, GraphQLNonNull, GraphQLString } from 'graphql';

/** `@idempotent`: the idempotency key of a mutation field, see docs/idempotency.md. */
export const idempotentDirective = new GraphQLDirective({
  name: 'idempotent',
  description:
    'Executes this field of a mutation once for each key: a retry with the same key and the same arguments returns the result of the first execution. Replaces the header `Idempotency-Key` for this field. Does not change the cost; a retry costs no upstream request if the result is known.',
  locations: [DirectiveLocation.FIELD],
  args: {
    key: {
      type: new GraphQLNonNull(GraphQLString),
      description:
        'A new random text for each change that a user decides on, e.g. a UUID; the same text for each retry. 1 to 255 visible ASCII characters.',
    },
  },
});
