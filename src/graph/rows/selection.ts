import { type GraphQLResolveInfo, isObjectType } from 'graphql';
import { collectSubfields } from 'graphql/execution/collectFields.js';

/**
 * The names of the fields that the operation selects on this field's result, if it were of type `typename`:
 * through fragments, and without those that `@skip` and `@include` omit. Lets a resolver choose the cheapest
 * sufficient read. No upstream request.
 */
export function selectedFields(info: GraphQLResolveInfo, typename: string): Set<string> {
  const type = info.schema.getType(typename);
  if (!isObjectType(type)) throw new TypeError(`${typename} is not an object type`);
  const { schema, fragments, variableValues, fieldNodes } = info;
  const fields = collectSubfields(schema, fragments, variableValues, type, fieldNodes);
  return new Set([...fields.values()].map(([node]) => node?.name.value ?? ''));
}
