import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../auth/viewer.ts';
import { GatewayError } from '../errors.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import type { Admission } from '../http/door/admission.ts';
import { isLocal } from '../http/door/local-caller.ts';
import { errorAnswer, jsonAnswer, respond, textAnswer } from '../http/respond.ts';
import type { AtOnce } from '../scheduling/at-once.ts';
import type { Usage } from '../usage/usage.ts';
import { usageCsv } from '../usage/usage-report.ts';
import type { ConsoleFeed, ConsoleRights } from './feed.ts';
import { csvAnswer, usageFor } from './usage-pages.ts';

interface ConsoleOptions {
  /** Serves the page that shows the state. */
  readonly page: ConsoleRoute;
  readonly feed: ConsoleFeed;
  /** Counts requests by caller; `null` if nothing is recorded. */
  readonly usage: Usage | null;
  readonly maskError: MaskError;
  /** Whether tokens name their senders: else each is an administrator of their own. */
  readonly hasRoles: boolean;
}

/** The paths of the console. */
type ConsolePath =
  | '/console'
  | '/console.json'
  | '/console/events'
  | '/console/usage.csv'
  | '/console/usage.json';

/** Handles a path of the console. Never rejects. */
type ConsoleRoute = (
  request: IncomingMessage,
  response: ServerResponse,
  admission: Admission,
) => void;

/**
 * The console: its page, and the state of the gateway for it. `/console.json` returns that once, `/console/events`
 * sends it every second as server-sent events. It contains names of callers for viewers on this machine, and for
 * tokens of administrators. Costs no upstream request.
 */
export function createConsoleRoutes(
  options: ConsoleOptions,
): Readonly<Record<ConsolePath, ConsoleRoute>> {
  const { feed, page, usage } = options;
  const withRights =
    (
      answer: (
        response: ServerResponse,
        rights: ConsoleRights,
        request: IncomingMessage,
      ) => void | Promise<void>,
    ) =>
    (request: IncomingMessage, response: ServerResponse, admission: Admission): void => {
      const answered = rightsOf(request, admission, options).then((rights) => {
        return request.destroyed ? undefined : answer(response, rights, request);
      });
      answered.catch((error: unknown) => refuse(response, error, options));
    };
  return {
    '/console': page,
    '/console.json': withRights((response, { named }) =>
      respond(response, jsonAnswer(200, feed.text(named))),
    ),
    '/console/usage.json': withRights(async (response, rights, request) => {
      respond(response, jsonAnswer(200, await usageFor(request, rights, usage)));
    }),
    '/console/usage.csv': withRights(async (response, rights, request) => {
      const { by, groups } = await usageFor(request, rights, usage);
      respond(response, csvAnswer(usageCsv(by, groups)));
    }),
    '/console/events': withRights((response, rights, { method }) => {
      if (!feed.hasRoom(rights.named)) {
        const full = 'The limit of open consoles is reached. Close one, or retry in 5 s.';
        respond(response, { ...textAnswer(503, full), headers: { 'Retry-After': '5' } });
        return;
      }
      response.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        // Proxies would hold back events, to send more at a time.
        'X-Accel-Buffering': 'no',
      });
      if (method === 'HEAD') response.end();
      else feed.show(response, rights);
    }),
  };
}

/** The part of the state that a request may see. Rejects with a coded error if its token is invalid. */
async function rightsOf(
  request: IncomingMessage,
  admission: Admission,
  { hasRoles }: ConsoleOptions,
): Promise<ConsoleRights> {
  // Names are for the gateway's own pages: not even for other allowed ones.
  const local = isLocal(request) && admission.isOwn;
  if (!hasRoles || request.headers.authorization === undefined)
    return { named: local, still: null };
  const mayKnowNames = async (identify: () => AtOnce<Viewer>): Promise<boolean> => {
    try {
      // An invalid token is rejected on this machine too, where it is not required.
      return (await identify()).role === 'admin' || local;
    } catch (error) {
      // The console stays available to its operator if an identity provider is unavailable.
      if (local && error instanceof GatewayError) return true;
      throw error;
    }
  };
  const named = await mayKnowNames(() => admission.identify());
  const identifyAgain = admission.identifyAgain();
  return {
    named,
    still: () =>
      mayKnowNames(identifyAgain).then(
        (may) => may === named,
        () => false,
      ),
  };
}

function refuse(response: ServerResponse, error: unknown, { maskError }: ConsoleOptions): void {
  if (response.headersSent) response.destroy();
  else respond(response, errorAnswer(maskError(error)));
}
