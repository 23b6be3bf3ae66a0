import type { YogaInitialContext } from 'graphql-yoga';
import type { Credential } from '../auth/credential.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { OwnKey } from '../config/own-key.ts';
import { UpstreamFailure } from '../errors.ts';
import type { GraphContext } from '../graph/context.ts';
import { Source } from '../graph/rows/source.ts';
import { asksForDryRun, type Callers, dryRunHeader } from '../http/door/caller.ts';
import type { Jobs } from '../jobs/jobs.ts';
import { account } from '../links/account/account.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Client } from '../upstream/client.ts';
import { DryRun } from '../upstream/dry-run/dry-run.ts';
import type { Lists } from '../upstream/lists/pages.ts';
import {
  Admittance,
  type Caller,
  type ExecutionMode,
  type ReadWatcher,
} from '../upstream/operation.ts';
import type { Usage } from '../usage/usage.ts';
import type { ServerContext } from './request-record.ts';

/** One API as the whole process shares it. */
export interface Backend {
  readonly client: Client;
  readonly lists: Lists;
}

/** One API with the gateway's own key for it. */
interface Upstream {
  /** `null` when the API is not configured. */
  readonly backend: Backend | null;
  readonly key: Pick<OwnKey, 'credential'>;
}

/** Both APIs as one operation reads them. */
type OpenSources = Pick<GraphContext, 'links' | 'market'>;

/** Opens both APIs for one operation. */
export type Sources = (viewer: Viewer, caller: Caller, mode?: ExecutionMode) => OpenSources;

/** Opens both APIs for callers: with the viewer's own key if there is one, otherwise with the gateway's. */
export function createSources(links: Upstream, market: Upstream): Sources {
  return ({ linksCredential }, caller, mode) => {
    const linksLists = listsOf(links.backend, mode);
    const marketLists = listsOf(market.backend, mode);
    const ofLinks = new Source({
      upstream: 'LINKS',
      lists: linksLists,
      access: { caller, credential: linksCredential ?? links.key.credential, mode },
    });
    // A caller whose own key the other API does not accept may not use the gateway's key, nor entries that were
    // read with it.
    const admittance =
      linksCredential &&
      new Admittance(async () => {
        const dryRun = mode?.kind === 'planned' ? mode.dryRun : null;
        const known = !dryRun || isKnown(links.backend, linksCredential);
        if (!known) dryRun.guesses();
        // A dry run counts this as well.
        await ofLinks.read(account);
        if (!known) throw notAdmitted();
      });
    const access = { caller, credential: market.key.credential, mode, admittance };
    return {
      links: ofLinks,
      market: new Source({ upstream: 'MARKET', lists: marketLists, access }),
    };
  };
}

/** Whether the link API has accepted a key, according to the cache. Costs no upstream request. */
function isKnown(links: Backend | null, credential: Credential): boolean {
  return links?.lists.client.peek(account, { credential }) !== undefined;
}

/** The error of a dry run that would have to send the key to verify it. */
function notAdmitted(): UpstreamFailure {
  return new UpstreamFailure(
    'LINKS',
    'UPSTREAM_UNAUTHENTICATED',
    'The link-management API has not verified this key yet, and a dry run sends no upstream request. Run `{ account { id } }` first.',
  );
}

/** The lists as one operation reads them; `null` when the API is not configured. */
function listsOf(backend: Backend | null, mode: ExecutionMode | undefined): Lists | null {
  if (!backend) return null;
  return mode?.kind === 'planned' ? backend.lists.forDryRun() : backend.lists;
}

/** Builds the contexts of operations. */
export interface ContextFactory {
  /**
   * For the normal execution of an operation.
   * @throws TypeError for an operation without authentication, which is a bug and not an anonymous caller.
   */
  readonly create: (initial: YogaInitialContext & ServerContext) => GraphContext;
  /** Of one run of a live query. */
  readonly live: (viewer: Viewer, terms: LiveTerms) => GraphContext;
  /** Of an operation of a job. */
  readonly job: (viewer: Viewer, terms: JobTerms) => GraphContext;
}

/** How an operation of a job is executed. */
interface JobTerms {
  /** See `Caller.bulk`. */
  readonly acceptsFrom: number;
  readonly signal: AbortSignal;
  /** Present if it is only priced. */
  readonly dryRun?: DryRun;
}

/** How a live query is run. */
interface LiveTerms {
  readonly watcher: ReadWatcher;
  readonly signal: AbortSignal;
  /** Whether it may wait for its turn for a whole window and more: there is an older result to look at. */
  readonly isPatient: boolean;
}

/** Makes the one factory of a gateway. */
export function createContextFactory(options: {
  readonly callers: Callers;
  readonly sources: Sources;
  readonly clock: Clock;
  readonly exposeUserApiKeys: boolean;
  /** The jobs, whose operations need this factory. */
  readonly jobs: () => Jobs;
  readonly usage: Usage;
  readonly uploadInlineMaxBytes: number;
  /** For how long a run waits for its turn when there is an older result to look at, in milliseconds. */
  readonly patienceMs: number;
}): ContextFactory {
  const { callers, clock, exposeUserApiKeys, patienceMs, sources } = options;
  const { jobs, uploadInlineMaxBytes, usage } = options;
  const contextOf = (viewer: Viewer, caller: Caller, mode?: ExecutionMode): GraphContext => {
    const { links, market } = sources(viewer, caller, mode);
    return {
      viewer,
      links,
      market,
      receipt: caller.receipt,
      ...(mode?.kind === 'planned' ? { dryRun: mode.dryRun } : {}),
      ...(mode?.kind === 'watched' ? { watcher: mode.watcher } : {}),
      clock,
      jobs: jobs(),
      usage,
      exposeUserApiKeys,
      uploadInlineMaxBytes,
    };
  };
  return {
    create: ({ agent, record, request: { headers, signal } }) => {
      const { viewer } = record;
      if (!viewer) throw new TypeError('a request was not authenticated');
      const terms = { prefer: headers.get('prefer'), signal, maxCalls: agent?.maxCalls };
      const caller = callers.callerOf(viewer, terms);
      if (!asksForDryRun(headers.get(dryRunHeader))) return contextOf(viewer, caller);
      return contextOf(viewer, caller, { kind: 'planned', dryRun: new DryRun() });
    },
    live: (viewer, { isPatient, signal, watcher }) => {
      const caller = callers.callerOf(viewer, { prefer: null, signal });
      const maxWaitMs = isPatient ? Math.max(caller.maxWaitMs, patienceMs) : caller.maxWaitMs;
      return contextOf(viewer, { ...caller, maxWaitMs }, { kind: 'watched', watcher });
    },
    job: (viewer, { acceptsFrom, dryRun, signal }) => {
      const caller = callers.callerOf(viewer, { prefer: null, signal });
      const mode = dryRun && ({ kind: 'planned', dryRun } as const);
      return contextOf(viewer, { ...caller, bulk: { acceptsFrom } }, mode);
    },
  };
}
