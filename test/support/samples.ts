import {
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql';

const scalars: Readonly<Record<string, unknown>> = {
  ID: '1',
  Int: 1,
  Float: 1,
  Boolean: true,
  String: 'sample',
  Date: '2031-01-01',
  DateTime: '2031-01-01T00:00:00Z',
  JSONObject: {},
};

/** Some value that fits a type, with no more in it than must be. */
export function sampleOf(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return sampleOf(type.ofType);
  if (isListType(type)) return [sampleOf(type.ofType)];
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (!isInputObjectType(type)) return scalars[type.name];
  const fields = Object.values(type.getFields());
  const wanted = type.isOneOf
    ? fields.slice(0, 1)
    : fields.filter((each) => isNonNullType(each.type));
  return Object.fromEntries(wanted.map((each) => [each.name, sampleOf(each.type)]));
}
