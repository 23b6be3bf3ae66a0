import { useDeferStream } from '@graphql-yoga/plugin-defer-stream';
import type { Plugin } from 'graphql-yoga';
import type { RememberedAnswers } from '../answers/remembered-answers.ts';
import type { Door } from '../http/door/admission.ts';
import type { BodyPool } from '../http/door/body/body-pool.ts';
import type { BodyLimits } from '../http/door/body/operation-body.ts';
import type { Callers } from '../http/door/caller.ts';
import type { LiveHub } from '../live/hub.ts';
import type { EventStream } from '../observe/event-stream.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Cache } from '../upstream/cache/cache.ts';
import type { Contexts } from './context.ts';
import type { DryRuns } from './dry-runs.ts';
import { type OperationTexts, useOperationLimits } from './limits/operation-texts.ts';
import type { MaskError } from './mask-error.ts';
import { useAnswers } from './plugins/use-answers.ts';
import { useExecution } from './plugins/use-execution.ts';
import { useEmission, useObservation } from './plugins/use-observation.ts';
import type { GatewayPlugin } from './request-record.ts';
import { useAllowList, useAutomaticPersistence } from './requests/use-persisted-operations.ts';
import { useRequests } from './requests/use-requests.ts';
import type { SchemaAccess } from './schema-access.ts';

/** What the plugins are made of. */
export interface PluginOptions {
  readonly door: Door;
  readonly callers: Callers;
  readonly bodyLimits: BodyLimits;
  /** The memory of the bodies of all requests. */
  readonly bodyPool: BodyPool;
  readonly texts: OperationTexts;
  /** The only allowed operations, by id; `null` if all are. */
  readonly persistedOperations: ReadonlyMap<string, string> | null;
  readonly schemaAccess: SchemaAccess;
  /** Runs live queries. */
  readonly hub: LiveHub;
  readonly contexts: Contexts;
  readonly dryRuns: DryRuns;
  readonly maskError: MaskError;
  readonly answers: RememberedAnswers;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly events: EventStream;
}

/**
 * Every plugin of Yoga, in the order in which it runs them. Each hook runs over the whole list before the
 * next hook begins.
 */
export function gatewayPlugins(options: PluginOptions): readonly (GatewayPlugin | Plugin)[] {
  const { persistedOperations, texts } = options;
  return [
    // First, since it begins the record that the hooks of all others write to, and refuses what they need not see.
    useRequests(options),
    // After authentication, because an unknown caller must not add a remembered text.
    persistedOperations ? useAllowList(persistedOperations) : useAutomaticPersistence(),
    // Replaces the parser, so that a rejected text is never validated.
    useOperationLimits(texts, options),
    // Provides incremental results, which the plugins below receive as an async iterable.
    useDeferStream() as Plugin,
    // Innermost around the executor, so that its work is in the operation's span.
    useExecution(options),
    // After the execution, whose errors it records.
    useObservation(options),
    // After the execution, which records how its response may be stored.
    useAnswers(options),
    // After all that can change a response, so that it emits what the caller received.
    useEmission(options),
  ];
}
