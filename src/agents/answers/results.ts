import type { GraphAnswer, SentOperation } from '../agent-graph.ts';
import type { ToolOutcome } from '../tools/tool.ts';
import { pageOfResult } from './result-pages.ts';

/**
 * The result of an operation: data and errors as JSON, then how to go on if it is cut. An operation without data is an
 * error.
 * @throws BadUserInput `BAD_USER_INPUT` for a cursor of another operation.
 */
export function resultOfOperation(
  { data, errors, messages, outcomes, upstream }: GraphAnswer,
  asked: SentOperation,
  cursor?: string,
): ToolOutcome {
  const page = data && pageOfResult(data, asked, cursor ?? null);
  const json = {
    data: page?.data ?? null,
    ...(errors.length > 0 ? { errors } : {}),
    ...(messages.length > 0 ? { messages } : {}),
  };
  const replayed = outcomes.filter(({ outcome }) => outcome === 'REPLAYED');
  const [first] = replayed;
  const lines = [
    JSON.stringify(json),
    ...(first
      ? [
          `Nothing was changed now: this change was made at ${first.firstAt}. To make it again, send another key.`,
        ]
      : []),
    ...(page?.cursor
      ? [
          `The result is cut after a row. Call graph_read with the same operation, variables and cursor ${JSON.stringify(page.cursor)} for the rest.`,
        ]
      : []),
  ];
  const isEmpty = data === null || Object.values(data).every((value) => value === null);
  const isError = errors.length > 0 && isEmpty;
  return { kind: 'text', text: lines.join('\n'), isError, cost: upstream };
}
