import {
  asMap,
  type Decoded,
  type Fields,
  hasField,
  type JsonObject,
  readField,
  rowId,
} from '../upstream/decode/fields.ts';
import { formatLocalTimestamp } from '../upstream/decode/timestamp.ts';
import type { DecodeContext, Row, Write } from '../upstream/request.ts';

/** A part of the decoded fields; the others are unknown. */
export type Some<F> = { readonly [M in keyof F]?: Decoded<F>[M] | undefined };

/** Leaves out members that are absent or `null`: the caller did not give them. */
export function given<T>(
  members: Readonly<Record<string, T | null | undefined>>,
): Record<string, T> {
  const isGiven = (entry: [string, T | null | undefined]): entry is [string, T] => entry[1] != null;
  return Object.fromEntries(Object.entries(members).filter(isGiven));
}

/** The write that deletes a row of the list under `path`. 1 upstream request. */
export function removal(
  path: string,
  id: number,
  traits: Pick<Write<Row>, 'check' | 'ends' | 'leaves' | 'touches'> & { readonly row: string },
): Write<Row> {
  return {
    method: 'DELETE',
    path: `${path}/${id}/delete`,
    decode: () => ({ id }),
    evidence: {
      kind: 'repeatable',
      refusedAgain: (kind) => (kind === 'absent' ? { id } : null),
    },
    ...traits,
  };
}

/** Opens the response to a write, with members in `data`, at the top level, or in both. */
export function openWritten(body: unknown, path: string, context: DecodeContext): JsonObject {
  const answer = asMap(body) ?? {};
  const members: Record<string, unknown> = { ...answer };
  for (const [name, value] of Object.entries(asMap(answer['data']) ?? {})) {
    if (value !== null) members[name] = value;
  }
  return { members, path, context };
}

/**
 * Makes the decoder of a written row. Installations differ in how much of the input they return: members come from
 * the response, otherwise from `input`; the others stay unknown, as does the `id` of a new row.
 * @throws DecodeError from the decoder, if the id is neither given nor in the response.
 */
export function writtenDecoder<F extends Fields>(
  path: string,
  fields: F,
  input: Some<F>,
  id?: number | null,
): (body: unknown, context: DecodeContext) => Row & Some<F> {
  return (body, context) => {
    const object = openWritten(body, path, context);
    return { id: id ?? readField(rowId, object), ...readKnown(fields, object, input) };
  };
}

/** Reads the members that the object has, takes the others from `input`, and leaves the rest `undefined`: unknown. */
export function readKnown<F extends Fields>(
  fields: F,
  object: JsonObject,
  input: Some<F>,
): Some<F> {
  const known: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(fields)) {
    known[name] = hasField(each, object) ? readField(each, object) : (input[name] ?? undefined);
  }
  return known as Some<F>;
}

/** Formats an ISO 8601 time for the API: local time in the zone of its own timestamps. */
export function upstreamTime(
  time: string | null | undefined,
  timeZone: string,
): string | undefined {
  return time == null ? undefined : formatLocalTimestamp(Date.parse(time), timeZone);
}
