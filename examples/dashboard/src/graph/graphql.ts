import { initGraphQLTada } from 'gql.tada';
import type { introspection } from './graphql-env.d.ts';

/** Types each document by schema.graphql, from which `npm run types` makes the types. */
export const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { Date: string; DateTime: string; JSONObject: Record<string, unknown> };
}>();
