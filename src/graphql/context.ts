import type { YogaInitialContext } from 'graphql-yoga';
import type { Credential } from '../auth/credential.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { Clock } from '../clock.ts';
import { UpstreamFailure } from '../errors.ts';
import type { GraphContext } from '../graph/context.ts';
import { Source } from '../graph/source.ts';
import type { Callers } from '../http/door/caller.ts';
import { account } from '../links/account/account.ts';
import { WatchedClient } from '../live/watched-client.ts';
import type { WatchedReads } from '../live/watched-reads.ts';
import { AdmittingClient } from '../upstream/admitting-client.ts';
import { AtHandClient, type CopiesAtHand } from '../upstream/at-hand-client.ts';
import type { Client } from '../upstream/client.ts';
import { DryRun } from '../upstream/dry-run/dry-run.ts';
import { DryRunClient } from '../upstream/dry-run/dry-run-client.ts';
import type { Lists } from '../upstream/lists/pages.ts';
import type { Caller } from '../upstream/operation.ts';
import { viewerOf } from './plugins/use-authentication.ts';
import { asksForDryRun, dryRunHeader } from './plugins/use-dry-run.ts';
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
  readonly credential: Credential;
}

/** How an operation asks where it does not ask for real. */
interface Manner {
  /** Present when it is only priced. */
  readonly dryRun?: DryRun | undefined;
  /** Present when only what is at hand may answer it. */
  readonly copies?: CopiesAtHand;
  /** Present when what it reads is watched. */
  readonly reads?: WatchedReads;
}

/** Opens each API for one operation. */
export interface Sources {
  readonly links: (viewer: Viewer, caller: Caller, manner?: Manner) => Source;
  /** `links` is the same operation's: it admits a viewer who brings a key of that API. */
  readonly market: (viewer: Viewer, caller: Caller, links: Source, manner?: Manner) => Source;
}

/** Opens both APIs for callers: with the viewer's own key where it has one, else with the gateway's. */
export function createSources(links: Upstream, market: Upstream): Sources {
  return {
    links: (viewer, caller, manner = {}) =>
      new Source({
        upstream: 'LINKS',
        lists: links.backend && listsOf(links.backend, manner),
        access: { caller, credential: viewer.linksCredential ?? links.credential },
      }),
    market({ linksCredential }, caller, ofLinks, manner = {}) {
      const { dryRun } = manner;
      const lists = market.backend && listsOf(market.backend, manner);
      const access = { caller, credential: market.credential };
      if (!lists || !linksCredential) return new Source({ upstream: 'MARKET', lists, access });
      // The gateway's key, and what was read with it, are not for a caller whose own key the other API
      // does not accept.
      const client = new AdmittingClient(lists.client, async () => {
        const known = dryRun === undefined || isKnown(links.backend, linksCredential);
        if (!known) dryRun.guesses();
        // A dry run counts this as well.
        await ofLinks.read(account);
        if (!known) throw notAdmitted();
      });
      return new Source({
        upstream: 'MARKET',
        lists: lists.through(client),
        access,
        admit: () => client.admit(),
      });
    },
  };
}

/** Whether the link API has accepted a key, by what is at hand. Costs no upstream call. */
function isKnown(links: Backend | null, credential: Credential): boolean {
  return links?.client.peek(account, { credential }) !== undefined;
}

/** The error of a dry run whose key would have to be sent to find out whether it is accepted. */
function notAdmitted(): UpstreamFailure {
  return new UpstreamFailure(
    'LINKS',
    'UPSTREAM_UNAUTHENTICATED',
    'The link-management API has not accepted this key yet, and a dry run does not ask it. Ask for `{ account { id } }` first.',
  );
}

/** The lists as one operation sees them. */
function listsOf({ client, lists }: Backend, { copies, dryRun, reads }: Manner): Lists {
  if (reads) return lists.through(new WatchedClient(client, reads));
  if (copies) return lists.through(new AtHandClient(client, copies));
  return dryRun ? lists.dryRun(new DryRunClient(client, dryRun)) : lists;
}

/** Builds the contexts of operations. */
export interface ContextFactory {
  /** Of an operation that came the whole way. */
  readonly create: (initial: YogaInitialContext & ServerContext) => GraphContext;
  /** Of an attempt to answer an operation from memory: nothing is waited for, and nothing changed. */
  readonly atHand: (viewer: Viewer, copies: CopiesAtHand) => GraphContext;
  /** Of one run of a live query. */
  readonly live: (viewer: Viewer, terms: LiveTerms) => GraphContext;
}

/** How a live query is run. */
interface LiveTerms {
  readonly reads: WatchedReads;
  readonly signal: AbortSignal;
  /** Whether it may wait for its turn for a whole window and more: there is an older result to look at. */
  readonly isPatient: boolean;
}

/** The signal of who is answered before they can have hung up. */
const NEVER = new AbortController().signal;

/** Makes the one factory of a gateway. */
export function createContextFactory(options: {
  readonly callers: Callers;
  readonly sources: Sources;
  readonly clock: Clock;
  readonly exposeUserApiKeys: boolean;
  readonly uploadInlineMaxBytes: number;
  /** For how long a run waits for its turn when there is an older result to look at, in milliseconds. */
  readonly patienceMs: number;
}): ContextFactory {
  const { callers, clock, exposeUserApiKeys, patienceMs, sources, uploadInlineMaxBytes } = options;
  const contextOf = (viewer: Viewer, caller: Caller, manner: Manner): GraphContext => {
    const links = sources.links(viewer, caller, manner);
    return {
      viewer,
      links,
      market: sources.market(viewer, caller, links, manner),
      receipt: caller.receipt,
      ...(manner.dryRun ? { dryRun: manner.dryRun } : {}),
      clock,
      exposeUserApiKeys,
      uploadInlineMaxBytes,
    };
  };
  return {
    create: ({ record, request: { headers, signal } }) => {
      const viewer = viewerOf(record);
      const dryRun = asksForDryRun(headers.get(dryRunHeader)) ? new DryRun() : undefined;
      const caller = callers.callerOf(viewer, { prefer: headers.get('prefer'), signal });
      return contextOf(viewer, caller, { dryRun });
    },
    atHand: (viewer, copies) =>
      contextOf(viewer, callers.callerOf(viewer, { prefer: null, signal: NEVER }), { copies }),
    live: (viewer, { isPatient, reads, signal }) => {
      const caller = callers.callerOf(viewer, { prefer: null, signal });
      const maxWaitMs = isPatient ? Math.max(caller.maxWaitMs, patienceMs) : caller.maxWaitMs;
      return contextOf(viewer, { ...caller, maxWaitMs, watches: true }, { reads });
    },
  };
}
