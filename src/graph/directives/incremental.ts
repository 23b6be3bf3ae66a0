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
  description: 'A name for the part, which comes with it; unique in the operation.',
};

/** `@defer`, with the arguments that the executor knows. */
const defer = new GraphQLDirective({
  name: 'defer',
  description:
    'Lets what this fragment selects come after the rest, for clients whose `Accept` names `multipart/mixed` or `text/event-stream`. For all others the answer comes whole. Costs what it costs without.',
  locations: [DirectiveLocation.FRAGMENT_SPREAD, DirectiveLocation.INLINE_FRAGMENT],
  args: {
    if: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: 'Whether it may come later.',
      defaultValue: true,
    },
    label,
  },
});

/** `@stream`, with the arguments that the executor knows. */
const stream = new GraphQLDirective({
  name: 'stream',
  description:
    'Lets the rows of this list come one after the other, for clients whose `Accept` names `multipart/mixed` or `text/event-stream`. For all others the answer comes whole. Costs what it costs without.',
  locations: [DirectiveLocation.FIELD],
  args: {
    if: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: 'Whether they may come one after the other.',
      defaultValue: true,
    },
    label,
    initialCount: {
      type: GraphQLInt,
      description: 'How many rows come at once, before the others.',
      defaultValue: 0,
    },
  },
});

/** The directives that let an answer come in parts. */
export const incrementalDirectives: readonly GraphQLDirective[] = [defer, stream];
