import { DirectiveLocation, GraphQLDirective, GraphQLInt } from 'graphql';

/** `@live`: keeps the answer to a query current, see docs/live.md. */
export const liveDirective = new GraphQLDirective({
  name: 'live',
  description:
    'Keeps the answer to this query current, for clients whose `Accept` names `text/event-stream`: the whole answer comes first, and then whatever changes, as soon as the gateway knows of it. For all others it is answered once, as without. What is watched is refreshed in place of being asked for, so that viewers cost nothing each.',
  locations: [DirectiveLocation.QUERY],
  args: {
    throttle: {
      type: GraphQLInt,
      description:
        'Milliseconds between two changes at least, 60,000 at most: what changes sooner comes together.',
      defaultValue: 0,
    },
  },
});
