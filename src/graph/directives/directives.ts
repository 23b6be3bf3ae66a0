import {
  DirectiveLocation,
  GraphQLBoolean,
  GraphQLDirective,
  GraphQLInt,
  GraphQLNonNull,
  GraphQLString,
} from 'graphql';

/** `@live`: keeps the response to a query current, see docs/live.md. */
export const liveDirective = new GraphQLDirective({
  name: 'live',
  description:
    'Keeps the response to this query current, for clients whose `Accept` header contains `text/event-stream`: the gateway sends the whole response, then each change. Other clients get one response. Cached data is refreshed in the background for all viewers together, so an additional viewer costs no upstream request.',
  locations: [DirectiveLocation.QUERY],
  args: {
    throttle: {
      type: GraphQLInt,
      description:
        'Minimum time in milliseconds between two events, at most 60,000. Changes within that time are sent together.',
      defaultValue: 0,
    },
  },
});

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
