import {
  DirectiveLocation,
  GraphQLBoolean,
  GraphQLDirective,
  GraphQLInt,
  GraphQLNonNull,
  GraphQLString,
} from 'graphql';

const label = {
  type: GraphQLString,
  description: 'Label of this part, returned with it. Must be unique in the operation.',
};

/** `@defer`, with the arguments that the executor supports. */
const defer = new GraphQLDirective({
  name: 'defer',
  description:
    'Delivers the selection of this fragment after the rest, to clients whose `Accept` header contains `multipart/mixed` or `text/event-stream`. Other clients get the response as a whole. Does not change the cost.',
  locations: [DirectiveLocation.FRAGMENT_SPREAD, DirectiveLocation.INLINE_FRAGMENT],
  args: {
    if: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: 'Whether to defer the fragment.',
      defaultValue: true,
    },
    label,
  },
});

/** `@stream`, with the arguments that the executor supports. */
const stream = new GraphQLDirective({
  name: 'stream',
  description:
    'Delivers the items of this list one after another, to clients whose `Accept` header contains `multipart/mixed` or `text/event-stream`. Other clients get the response as a whole. Does not change the cost.',
  locations: [DirectiveLocation.FIELD],
  args: {
    if: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: 'Whether to stream the list.',
      defaultValue: true,
    },
    label,
    initialCount: {
      type: GraphQLInt,
      description: 'Number of items in the first part of the response.',
      defaultValue: 0,
    },
  },
});

/** The directives for incremental responses. */
export const incrementalDirectives: readonly GraphQLDirective[] = [defer, stream];
