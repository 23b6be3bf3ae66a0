import { type DocumentNode, type GraphQLSchema, getOperationAST, OperationTypeNode } from 'graphql';
import { liveDirective } from '../../graph/directives/directives.ts';
import type { KeyedFields } from '../../graph/keyed/keyed-fields.ts';
import { idempotencyKeyHeader } from '../../http/door/headers/idempotency-key.ts';
import type { Cache } from '../../upstream/cache/cache.ts';
import type { Receipt } from '../../upstream/receipt.ts';
import { documentFor, type Part, withLast } from '../delivery.ts';
import { type DryRuns, planned } from '../dry-runs.ts';
import type { OperationTexts } from '../limits/operation-texts.ts';
import { selectsSecret } from '../limits/selects-secret.ts';
import { keysOfOperation } from '../operation-keys.ts';
import type { GatewayPlugin } from '../request-record.ts';
import { type LiveOptions, openLive } from './live-answer.ts';

interface ExecutionOptions extends Pick<LiveOptions, 'contexts' | 'maskError'> {
  readonly texts: Pick<OperationTexts, 'check' | 'withheld'>;
  readonly hub: LiveOptions['hub'];
  readonly dryRuns: DryRuns;
  readonly cache: Pick<Cache, 'version'>;
}

/**
 * Settles how a valid operation is executed, each step before those that depend on it. One that asks for the schema
 * begins once its caller may have that: with a caller's own key, once the API has accepted the key. It is not remembered.
 *
 * 1. Limits that depend on its variables are checked, so that a rejection costs no execution.
 * 2. The idempotency keys of a mutation are determined, so that an invalid one prevents all of its fields.
 * 3. A selection of secrets is recorded: such a response is not remembered, tagged or compressed.
 * 4. Directives for incremental delivery are removed if its client does not support it.
 * 5. A live query becomes a stream, within all these limits, and is executed by its hub.
 * 6. A dry run is executed by a separate schema, one at a time, and returns its plan.
 *
 * Adds the cost as `extensions.upstream`, what upstreams said about writes as `extensions.messages`, and the outcomes of
 * writes with idempotency keys as `extensions.idempotency`: to the last part, if there are several.
 */
export function useExecution(options: ExecutionOptions): GatewayPlugin {
  const { cache, dryRuns, texts } = options;
  const begin: Begin = (
    { args, executeFn, extendContext, setExecuteFn, setResultAndStopExecution },
    { withheld },
  ) => {
    const { dryRun, receipt, record, request, viewer } = args.contextValue;
    const document = args.document as DocumentNode;
    const schema = args.schema as GraphQLSchema;
    const variables = (args.variableValues ?? {}) as Readonly<Record<string, unknown>>;
    const operation = getOperationAST(document, args.operationName);
    if (operation) texts.check({ schema, document, operation }, variables);
    record.holdsSecrets = !operation || selectsSecret(schema, document, operation);
    const { accept, answerKey, holdsSecrets } = record;
    const sent = operation && !dryRun ? { schema, document, operation, variables } : null;
    const keyed = sent && keysOfOperation(sent, request.headers.get(idempotencyKeyHeader));
    if (keyed) extendContext({ keyed });

    let execute = executeFn;
    if (documentFor(accept, document) !== document) {
      // References no document: a live query keeps the function, and calls it with its own.
      execute = (input) =>
        executeFn({ ...input, document: documentFor(accept, input.document) }) as unknown;
      setExecuteFn(execute);
    }
    const isLive = operation?.directives?.some(({ name }) => name.value === liveDirective.name);
    if (operation && isLive && accept !== null && !dryRun) {
      const query = { schema, document, operation, variables, execute };
      if (openLive(query, args.contextValue, options)) {
        // Other plugins may read the result: there is none.
        setResultAndStopExecution({});
        return undefined;
      }
    }
    const isPublic = !holdsSecrets && !withheld && !dryRun;
    if (answerKey !== null && operation?.operation === OperationTypeNode.QUERY && isPublic) {
      const { version } = cache;
      record.remembering = { key: answerKey, receipt, result: null, version };
    }
    if (dryRun) {
      args.schema = dryRuns.schemaOf(schema);
      setExecuteFn((input) =>
        dryRuns.ofRequests.run(viewer.name, () => {
          request.signal.throwIfAborted();
          return execute(input) as object;
        }),
      );
    }
    return {
      onExecuteDone({ result, setResult }) {
        const { summary } = receipt;
        const cost = { receipt, keyed };
        // All fields of a mutation are executed before the first part of its response.
        record.isReplayed = keyed?.areReplayed === true;
        const shown =
          Symbol.asyncIterator in result
            ? withLast(result as AsyncIterable<Part>, (last) => withReceipt(last, cost))
            : withReceipt(result, cost, summary);
        // It has no data: a tag of those that it was made from would reveal something of them.
        if (dryRun) return planned(shown, { dryRun, receipt }).then((plan) => setResult(plan));
        setResult(shown);
        if (Symbol.asyncIterator in result) return undefined;
        record.summary = summary;
        if (request.method === 'GET' && !holdsSecrets) {
          record.ageSeconds = Math.floor(summary.maxAgeMs / 1000);
        }
        return undefined;
      },
    };
  };
  return {
    onExecute(payload) {
      const { contextValue, document } = payload.args;
      const withheld = texts.withheld.has(document as DocumentNode);
      if (!withheld) return begin(payload, { withheld });
      return contextValue.market.admitted().then(() => begin(payload, { withheld }));
    },
  };
}

/** Settles how an operation is executed, once its caller may have the answer. `withheld`: not every caller may. */
type Begin = (
  payload: Parameters<NonNullable<GatewayPlugin['onExecute']>>[0],
  access: { readonly withheld: boolean },
) => Awaited<ReturnType<NonNullable<GatewayPlugin['onExecute']>>>;

/** A response, or the last part of one, with its cost, what upstreams said about its writes, and their outcomes. */
function withReceipt(
  part: Part,
  { keyed, receipt }: { readonly keyed: KeyedFields | null; readonly receipt: Receipt },
  upstream = receipt.summary,
): Part {
  const { all } = receipt.messages;
  const messages = all.length > 0 ? { messages: all } : {};
  const reports = keyed?.reports ?? [];
  const idempotency = reports.length > 0 ? { idempotency: reports } : {};
  return { ...part, extensions: { ...part.extensions, upstream, ...messages, ...idempotency } };
}
