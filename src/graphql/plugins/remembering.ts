import type { ExecutionResult } from 'graphql';
import { cutAtAge } from '../../answers/answer-json.ts';
import type { CompiledQueries } from '../../answers/compiled/compiled-queries.ts';
import type { RememberedAnswers } from '../../answers/remembered-answers.ts';
import { operationName } from '../../answers/request-names.ts';
import type { InputLimits } from '../limits/input-limits.ts';
import type { RequestRecord } from '../request-record.ts';

/** The types of an answer whose bytes are those of its JSON: others wrap it into parts or events. */
const BARE = /^application\/(graphql-response\+)?json\b/;
/** Where answers are remembered. */
export interface RememberingOptions {
  readonly answers: RememberedAnswers;
  readonly operations: CompiledQueries;
  /** Limits what depends on variables. */
  readonly input: InputLimits;
}

/**
 * Remembers what came the whole way for the fast path: queries that were answered without an error, and their
 * answers where they can be given again as they are, because they were made from fresh cache entries alone.
 * See `CompiledQueries` and `RememberedAnswers`.
 */
export function rememberAnswer(
  { ageSeconds, json, names, remembering }: RequestRecord,
  { headers, status }: Response,
  { answers, input, operations }: RememberingOptions,
): void {
  if (!json || !names || !remembering?.result) return;
  const { receipt, result, version, ...query } = remembering;
  const contentType = headers.get('content-type') ?? '';
  if (status !== 200 || !BARE.test(contentType) || !isWhole(result)) return;
  if (names.operation !== null) {
    const check = checkOf(query, input);
    operations.note(names, contentType, () => ({ ...query, check }));
  }
  answers.note(names.answer, () => {
    const isOfOneState = version === answers.version;
    const text = isOfOneState ? cutAtAge(json.text, receipt) : null;
    if (!text) return null;
    const name = operationName(query.operation);
    const etag = ageSeconds === null ? null : json.etag;
    const { ingredients } = receipt;
    return { ...text, contentType, etag, name, ingredients };
  });
}

/**
 * Checks the variables of a query. It is kept for as long as the query, so it is made where nothing of the
 * request is in scope: a closure keeps all that those beside it refer to.
 */
function checkOf(
  query: Parameters<InputLimits['check']>[0],
  input: InputLimits,
): (variables: Readonly<Record<string, unknown>>) => void {
  return (variables) => input.check(query, variables);
}

/** Whether an answer has data, a receipt, and nothing else. */
function isWhole({ extensions, ...rest }: ExecutionResult): boolean {
  return Object.keys(rest).join() === 'data' && Object.keys(extensions ?? {}).join() === 'upstream';
}
