import {
  type DocumentNode,
  type ExecutionResult,
  getOperationAST,
  OperationTypeNode,
} from 'graphql';
import type { Clock } from '../../clock.ts';
import type { Receipt, ReceiptSummary } from '../../upstream/receipt.ts';
import type { RememberedAnswer, RememberedAnswers } from '../answers/remembered-answers.ts';
import type { GatewayPlugin } from './request-record.ts';

/** The types of an answer whose bytes are those of its JSON: others wrap it into parts or events. */
const BARE = /^application\/(graphql-response\+)?json\b/;
/** Where the age of an answer's oldest part stands on its receipt. */
const AGE = '"maxAgeMs":';

/**
 * Remembers answers that can be given again as they are: to queries that were answered whole, without an
 * error, from fresh cache entries alone. See `RememberedAnswers` for how long.
 */
export function useRemembering(answers: RememberedAnswers, clock: Clock): GatewayPlugin {
  return {
    onExecute({ args }) {
      const { dryRun, receipt, record } = args.contextValue;
      if (!record.answerKey || dryRun) return;
      const operation = getOperationAST(args.document as DocumentNode, args.operationName);
      if (operation?.operation !== OperationTypeNode.QUERY) return;
      const name = operation.name?.value.slice(0, 64) ?? null;
      record.remembering = { name, receipt, result: null, version: answers.version };
    },
    onResultProcess({ result, serverContext: { record } }) {
      if (record.remembering) record.remembering.result = result;
    },
    onResponse({ response, serverContext: { record } }) {
      const { answerKey, remembering } = record;
      if (!answerKey || !remembering?.result) return;
      const { name, receipt, result, version } = remembering;
      const contentType = response.headers.get('content-type') ?? '';
      answers.note(answerKey, () => {
        if (response.status !== 200 || !BARE.test(contentType)) return null;
        if (version !== answers.version) return null;
        const text = cut(result, receipt);
        if (!text) return null;
        const { oldestAt, reads, until } = receipt.served(clock.now());
        const etag = record.validators?.etag ?? null;
        return { ...text, contentType, etag, name, oldestAt, reads, until };
      });
    },
  };
}

/** The text of an answer before and behind its age; `null` for one that cannot be given again. */
function cut(
  result: ExecutionResult,
  receipt: Receipt,
): Pick<RememberedAnswer, 'head' | 'tail'> | null {
  const { extensions, ...rest } = result;
  const upstream = extensions?.['upstream'] as ReceiptSummary | undefined;
  const keys = Object.keys(rest).join(' ');
  if (!upstream || keys !== 'data' || Object.keys(extensions ?? {}).length > 1) return null;
  const { calls, saved, stale, waitedMs } = upstream;
  if (calls + saved.coalesced + stale + waitedMs > 0 || receipt.passing) return null;
  const text = JSON.stringify({ ...rest, extensions });
  const at = text.lastIndexOf(AGE) + AGE.length;
  const end = text.indexOf(',', at);
  return { head: latin1(text.slice(0, at)), tail: latin1(text.slice(end)) };
}

/** The UTF-8 bytes of a text, each as one character: so its length is what goes over the wire. */
function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}
