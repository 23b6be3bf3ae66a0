/** Characters of the longest text that the graph takes anywhere. */
export const LONGEST_TEXT = 10_000;
/** Of a text about which nothing else is said: the longest URL in use, or a cursor of this graph. */
const USUAL_TEXT = 2000;
/** Of what is looked for, and of names of things: each is compared with many rows. */
const SHORT_TEXT = 256;

/** Where a text may be longer or must be shorter than usual, by the schema's coordinates. */
export const textLimits: Readonly<Record<string, number>> = {
  'Query.items(search:)': SHORT_TEXT,
  'Query.items(category:)': SHORT_TEXT,
  'Query.items(tag:)': SHORT_TEXT,
  'Query.files(search:)': SHORT_TEXT,
  'Query.purchase(code:)': SHORT_TEXT,
  'Query.users(email:)': SHORT_TEXT,
  'CreateChannelInput.description': LONGEST_TEXT,
  'UpdateChannelInput.description': LONGEST_TEXT,
  'QrDataInput.value': LONGEST_TEXT,
};

/** The same by the scalar that a text is given for. */
const byScalar: Readonly<Record<string, number>> = { ID: SHORT_TEXT, JSONObject: LONGEST_TEXT };

/** Characters that a text may have which is given for this argument or member, of this named type. */
export function mostCharacters(coordinate: string, typename: string): number {
  return textLimits[coordinate] ?? byScalar[typename] ?? USUAL_TEXT;
}
