import { DirectiveLocation, GraphQLDirective, GraphQLInt } from 'graphql';

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
