import type { YogaInitialContext } from 'graphql-yoga';
import type { Credential } from '../auth/credential.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { OwnKey } from '../config/own-key.ts';
import { UpstreamFailure } from '../errors.ts';
import type { GraphContext } from '../graph/context.ts';
import { Source } from '../graph/rows/source.ts';
import {
  asksForDryRun,
  type Callers,
  type CallerTerms,
  dryRunHeader,
} from '../http/door/caller.ts';
import type { Jobs } from '../jobs/jobs.ts';
import { account } from '../links/account/account.ts';
import type { Clock } from '../scheduling/clock.ts';
import type { Client } from '../upstream/client.ts';
import { DryRun } from '../upstream/dry-run/dry-run.ts';
import type { Lists } from '../upstream/lists/pages.ts';
import { Admittance, type Caller, type ExecutionMode } from '../upstream/operation.ts';
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

/** Opens both APIs for one operation. */
export type Sources = (
  viewer: Viewer,
  caller: Caller,
  mode?: ExecutionMode,
) => Pick<GraphContext, 'links' | 'market'>;

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

/** Builds the context of an operation. */
export type Contexts = (viewer: Viewer, terms: ContextTerms) => GraphContext;

/** How an operation is executed. */
export interface ContextTerms extends Pick<Caller, 'bulk'>, CallerTerms {
  readonly mode?: ExecutionMode | undefined;
  /** Whether it may wait for its turn for a whole window and more: there is an older result to look at. */
  readonly isPatient?: boolean;
}

/** Makes the contexts of a gateway. */
export function createContexts(options: {
  readonly callers: Callers;
  readonly sources: Sources;
  readonly clock: Clock;
  readonly exposeUserApiKeys: boolean;
  /** The jobs, whose operations need these contexts. */
  readonly jobs: () => Jobs;
  readonly usage: Usage;
  readonly uploadInlineMaxBytes: number;
  /** For how long a patient operation waits for its turn, in milliseconds. */
  readonly patienceMs: number;
}): Contexts {
  const { callers, clock, exposeUserApiKeys, jobs, patienceMs, sources } = options;
  const { uploadInlineMaxBytes, usage } = options;
  return (viewer, { bulk, isPatient = false, maxCalls, mode, prefer, signal }) => {
    const known = callers.callerOf(viewer, { prefer, signal, maxCalls });
    const maxWaitMs = isPatient ? Math.max(known.maxWaitMs, patienceMs) : known.maxWaitMs;
    const caller = { ...known, maxWaitMs, bulk };
    return {
      viewer,
      ...sources(viewer, caller, mode),
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
}

/**
 * Makes the contexts of requests to `/graphql`.
 * @throws TypeError for an operation without authentication, which is a bug and not an anonymous caller.
 */
export function contextsOfRequests(contexts: Contexts) {
  return ({
    record: { viewer },
    request: { headers, signal },
  }: YogaInitialContext & ServerContext): GraphContext => {
    if (!viewer) throw new TypeError('a request was not authenticated');
    const dryRun = headers.get(dryRunHeader);
    const isDryRun = dryRun !== null && asksForDryRun(dryRun);
    const mode = isDryRun ? ({ kind: 'planned', dryRun: new DryRun() } as const) : undefined;
    return contexts(viewer, { prefer: headers.get('prefer'), signal, mode });
  };
}
