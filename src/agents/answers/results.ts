import { BadUserInput } from '../../errors.ts';
import type { GraphAnswer, SentOperation } from '../agent-graph.ts';
import type { ToolOutcome } from '../tools/tool.ts';
import { pageOfResult } from './result-pages.ts';

/**
 * The result of a query: data and errors as JSON, then how to go on if it is cut. A query without data is an error.
 * @throws BadUserInput `BAD_USER_INPUT` for a cursor of another query, and for a row that is too large.
 */
export function resultOfQuery(
  answer: GraphAnswer,
  asked: SentOperation,
  cursor: string | null,
): ToolOutcome {
  const page = answer.data && pageOfResult(answer.data, asked, cursor);
  if (answer.data && !page) {
    throw new BadUserInput('The first row of the result is too large alone. Select fewer fields.');
  }
  const rest = page?.cursor
    ? `The result is cut after a row. Call graph_read with the same operation, variables and cursor ${JSON.stringify(page.cursor)} for the rest.`
    : null;
  return outcomeOf(answer, page?.data ?? null, [rest]);
}

/** The result of a mutation. One that is too large is cut, or left out: the change was made, and its data can be read. */
export function resultOfMutation(answer: GraphAnswer, asked: SentOperation): ToolOutcome {
  const { data, outcomes } = answer;
  const page = data && pageOfResult(data, asked, null);
  const [replayed] = outcomes.filter(({ outcome }) => outcome === 'REPLAYED');
  const empty = Object.entries(data ?? {}).filter(([, value]) => isEmptyObject(value));
  return outcomeOf(answer, page?.data ?? (data && {}), [
    replayed
      ? `Nothing was changed now: this change was made at ${replayed.firstAt}. To make it again, send another key.`
      : null,
    data && (!page || page.cursor)
      ? 'The result is too large, and cut. The mutation was executed: read its data with graph_read.'
      : null,
    empty.length > 0
      ? `${empty.map(([name]) => name).join(', ')} returned a type of which nothing is selected. It was probably refused: select "... on Error { message }".`
      : null,
  ]);
}

function outcomeOf(
  { data, errors, messages, upstream }: GraphAnswer,
  shown: GraphAnswer['data'],
  hints: readonly (string | null)[],
): ToolOutcome {
  const json = {
    data: shown,
    ...(errors.length > 0 ? { errors } : {}),
    ...(messages.length > 0 ? { messages } : {}),
  };
  const lines = [JSON.stringify(json), ...hints.filter((hint) => hint !== null)];
  const isEmpty = data === null || Object.values(data).every((value) => value === null);
  const isError = errors.length > 0 && isEmpty;
  return { kind: 'text', text: lines.join('\n'), isError, cost: upstream };
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
