import { initGraphQLTada } from 'gql.tada';
import type { introspection, Scalars } from 'links-market-client';

/** Types each document by the graph. */
export const graphql = initGraphQLTada<{ introspection: introspection; scalars: Scalars }>();
