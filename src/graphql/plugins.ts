import { useDeferStream } from '@graphql-yoga/plugin-defer-stream';
import type { Plugin } from 'graphql-yoga';
import type { CompiledQueries } from '../answers/compiled-queries.ts';
import type { RememberedAnswers } from '../answers/remembered-answers.ts';
import type { Door } from '../http/door/admission.ts';
import { type BodyLimits, useBodyLimit } from '../http/door/body/body-limit.ts';
import { BodyPool } from '../http/door/body/body-pool.ts';
import { useMultipart } from '../http/door/body/multipart.ts';
import { useJson } from '../http/door/body/use-json.ts';
import type { Callers } from '../http/door/caller.ts';
import type { LiveHub } from '../live/hub.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { ContextFactory } from './context.ts';
import { useAcceptable } from './delivery/use-acceptable.ts';
import { useBatchRefusal } from './delivery/use-batch-refusal.ts';
import { useWholeAnswers } from './delivery/use-whole-answers.ts';
import type { OperationTexts } from './limits/operation-texts.ts';
import type { MaskError } from './mask-error.ts';
import { useAuthentication } from './plugins/requests/use-authentication.ts';
import { useBodyPool } from './plugins/requests/use-body-pool.ts';
import { useHttpCaching } from './plugins/requests/use-http-caching.ts';
import { useOrigins } from './plugins/requests/use-origins.ts';
import {
  useAllowList,
  useAutomaticPersistence,
} from './plugins/requests/use-persisted-operations.ts';
import { usePreference } from './plugins/requests/use-preference.ts';
import { useRequestFaults } from './plugins/requests/use-request-faults.ts';
import { useCompiledQueries } from './plugins/use-compiled-queries.ts';
import { useDryRun } from './plugins/use-dry-run.ts';
import { useLive } from './plugins/use-live.ts';
import { useNoSuggestions } from './plugins/use-no-suggestions.ts';
import { useObservation } from './plugins/use-observation.ts';
import { useOperationLimits } from './plugins/use-operation-limits.ts';
import { useReceipt } from './plugins/use-receipt.ts';
import { useRemembering } from './plugins/use-remembering.ts';
import { useSecrets } from './plugins/use-secrets.ts';
import { useSerialization } from './plugins/use-serialization.ts';
import { type GatewayPlugin, useRequestRecord } from './request-record.ts';

/** What the plugins are made of. */
export interface PluginOptions {
  readonly door: Door;
  readonly callers: Callers;
  readonly bodyLimits: BodyLimits;
  readonly texts: OperationTexts;
  /** The only operations that are answered, by id; `null` when all are. */
  readonly persistedOperations: ReadonlyMap<string, string> | null;
  /** Whether the schema may be asked for. */
  readonly introspection: boolean;
  /** Keeps the answers to live queries current; `null` where there are none. */
  readonly hub: LiveHub | null;
  readonly contexts: ContextFactory;
  readonly maskError: MaskError;
  readonly answers: RememberedAnswers;
  readonly operations: CompiledQueries;
  readonly clock: Clock;
  readonly events: EventStream;
}

/**
 * Every plugin of Yoga, in the order in which it runs them. Each hook runs over the whole list before the
 * next hook begins; parsers of request bodies are wrapped, so the last in the list is outermost.
 */
export function gatewayPlugins(options: PluginOptions): readonly (GatewayPlugin | Plugin)[] {
  const { bodyLimits, callers, clock, door, events, introspection, texts } = options;
  const { hub, persistedOperations } = options;
  return [
    // First, since the hooks of all others may write to the record.
    useRequestRecord(door),
    // Before authentication: a foreign page is refused, and a preflight answered, without a token.
    useOrigins(),
    // Before authentication, which may have to ask for keys.
    useAcceptable(),
    // Before anything reads the body, so that an unknown caller costs nothing more.
    useAuthentication(),
    // Behind it: what a body takes is counted by its sender.
    useBodyPool(new BodyPool(), bodyLimits),
    // Before the observation, which records the status that it sets.
    useBatchRefusal(),
    // Behind authentication: an unknown caller may not add a text to those that are remembered.
    persistedOperations ? useAllowList(persistedOperations) : useAutomaticPersistence(),
    // Takes the place of the parser, so that what it refuses is never validated.
    useOperationLimits(texts),
    // After validation, whose complaints it shortens.
    ...(introspection ? [] : [useNoSuggestions()]),
    // Before all that handle answers with secrets in another way.
    useSecrets(),
    // Makes the executor's parts of an answer, which those below see as an async iterable.
    useDeferStream() as Plugin,
    // Inside all that look at what comes out of the executor: they see one answer, or its parts.
    useWholeAnswers(),
    // Behind the limits, and behind those who know how parts go out: a stream has a way of its own. Before all
    // that look at one answer.
    ...(hub ? [useLive({ ...options, hub })] : []),
    // Innermost around the executor, so that its work is in the operation's span. Behind those that note secrets
    // and take live queries, since it leaves both to the executor.
    useCompiledQueries(options),
    // Before the dry run, which leaves the receipt where it is.
    useReceipt(),
    // Before the 304, which copies its header.
    usePreference(callers),
    // Before a 304 leaves out the body, and its type with it.
    useRemembering(options, texts.input),
    // Behind the CORS headers, which its 304 copies.
    useHttpCaching(),
    // Last to change a result: it leaves nothing of the answer but the receipt and its own plan.
    useDryRun(),
    // Last to see a result as an object, besides the observation.
    useSerialization(),
    // Behind all that can change an answer, so that it records what the caller got.
    useObservation({ clock, events }),
    // Take the place of the parsers for operations as JSON, and with files.
    useJson(),
    useMultipart(bodyLimits),
    // Inside the faults below: its refusal is no fault of the parser.
    useBodyLimit(bodyLimits),
    // Outermost around the parser that the request ends up with.
    useRequestFaults(),
  ];
}
