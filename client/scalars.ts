/** The JSON types of the custom scalars. A type and not an interface, as gql.tada requires. */
export type Scalars = {
  /** "2026-01-31T09:30:00Z" */
  DateTime: string;
  /** "2026-01-31" */
  Date: string;
  JSONObject: Record<string, unknown>;
  Upload: Blob;
};
