import type { OperationOutcome } from '../graphql/operations.ts';
import { ToolError } from './tool-error.ts';
import type { ToolOutcome } from './tools/tool.ts';

/** Maximum size of the data in a result, in bytes. */
export const MAX_RESULT_BYTES = 32 * 1024;

/**
 * The result of a query: data and errors as JSON. A query without data is an error.
 * @throws ToolError `RESULT_TOO_LARGE` for more than 32 kB of data, with the `first` that would fit.
 */
export function resultOfQuery(answer: OperationOutcome): ToolOutcome {
  const { data } = answer;
  const bytes = bytesOf(data);
  if (bytes > MAX_RESULT_BYTES) throw tooLarge(data, bytes);
  return outcomeOf(answer, []);
}

/** The result of a mutation. Data that is too large is left out: the change was made, and its data can be read. */
export function resultOfMutation(answer: OperationOutcome): ToolOutcome {
  const { data, keyed } = answer;
  const isTooLarge = bytesOf(data) > MAX_RESULT_BYTES;
  const [replayed] = (keyed?.reports ?? []).filter(({ outcome }) => outcome === 'REPLAYED');
  const empty = Object.entries(data ?? {}).filter(([, value]) => isEmptyObject(value));
  return outcomeOf(isTooLarge ? { ...answer, data: {} } : answer, [
    replayed
      ? `Nothing was changed now: this change was made at ${replayed.firstAt}. To make it again, send another key.`
      : null,
    isTooLarge
      ? 'The result is too large. The mutation was executed: read its data with graph_read.'
      : null,
    empty.length > 0
      ? `${empty.map(([name]) => name).join(', ')} returned a type of which nothing is selected. It was probably refused: select "... on Error { message }".`
      : null,
  ]);
}

function outcomeOf(
  { data, errors, receipt }: OperationOutcome,
  hints: readonly (string | null)[],
): ToolOutcome {
  const messages = receipt.messages.all;
  const json = {
    data,
    ...(errors.length > 0 ? { errors } : {}),
    ...(messages.length > 0 ? { messages } : {}),
  };
  const lines = [JSON.stringify(json), ...hints.filter((hint) => hint !== null)];
  const isEmpty = data === null || Object.values(data).every((value) => value === null);
  const isError = errors.length > 0 && isEmpty;
  return { text: lines.join('\n'), isError, cost: receipt.summary };
}

function tooLarge(data: OperationOutcome['data'], bytes: number): ToolError {
  const first = rowsThatFit(data);
  const advice =
    first > 0
      ? `It fits with first: ${first} in its outermost lists`
      : 'Even one row of its outermost lists is too large: ask for fewer rows in the lists within it';
  return new ToolError(
    'RESULT_TOO_LARGE',
    `The result has ${bytes} bytes, more than ${MAX_RESULT_BYTES}. ${advice}, or select fewer fields. It is cached now. For a whole list, graph_job exports it.`,
    { bytes, first },
  );
}

/** The most rows of each outermost list with which data fits. Takes time proportional to what fits. */
function rowsThatFit(data: unknown): number {
  const fits = (rows: number): boolean => bytesOf(withRows(data, rows)) <= MAX_RESULT_BYTES;
  let [most, step] = [0, 1];
  while (fits(most + step)) {
    most += step;
    step *= 2;
  }
  for (; step >= 1; step /= 2) if (fits(most + step)) most += step;
  return most;
}

/** Data with the first rows of its outermost lists. */
function withRows(data: unknown, rows: number): unknown {
  if (Array.isArray(data)) return data.slice(0, rows);
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, withRows(value, rows)]),
  );
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
