/** What the graph's own scalars are in JSON; a type and not an interface, as gql.tada wants it. */
export type Scalars = {
  /** "2026-01-31T09:30:00Z" */
  DateTime: string;
  /** "2026-01-31" */
  Date: string;
  JSONObject: Record<string, unknown>;
  Upload: Blob;
};
