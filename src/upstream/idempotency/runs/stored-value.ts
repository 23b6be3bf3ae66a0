/** Maximum length of the JSON of a stored result, in characters. */
const MOST_CHARACTERS = 4096;

/** A result in the form in which a record stores it: as JSON; of a large one only its id. */
export function storedValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text === undefined) return null;
  if (text.length <= MOST_CHARACTERS) return JSON.parse(text);
  const isRow = typeof value === 'object' && value !== null && 'id' in value;
  return isRow ? { id: value.id } : null;
}

/** The id of a created row; `null` if the result has none. */
export function idOf(value: unknown): number | null {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  return typeof id === 'number' ? id : null;
}
