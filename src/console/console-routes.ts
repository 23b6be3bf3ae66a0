import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../errors.ts';
import type { MaskError } from '../graphql/mask-error.ts';
import type { Admission } from '../http/door/admission.ts';
import { isLocal } from '../http/door/local-caller.ts';
import type { Handler } from '../http/door/route.ts';
import { errorAnswer, jsonAnswer, respond } from '../http/respond.ts';
import type { Usage } from '../usage/usage.ts';
import { usageCsv } from '../usage/usage-report.ts';
import type { ConsoleStates } from './console-states.ts';
import { csvAnswer, usageFor } from './usage-pages.ts';

interface ConsoleOptions {
  /** Serves the page that shows the state. */
  readonly page: Handler;
  readonly console: Pick<ConsoleStates, 'text'>;
  /** Counts requests by caller; `null` if nothing is recorded. */
  readonly usage: Usage;
  readonly maskError: MaskError;
  /** Whether tokens name their senders: else each is an administrator of their own. */
  readonly hasRoles: boolean;
}

/**
 * The console: its page, and the state of the gateway for it, as `/console.json`. It contains names of callers for
 * viewers on this machine, and for tokens of administrators. Costs no upstream request.
 */
export function consolePages(options: ConsoleOptions): Readonly<Record<string, Handler>> {
  const { console, page, usage } = options;
  const answered =
    (
      answer: (
        response: ServerResponse,
        named: boolean,
        request: IncomingMessage,
      ) => void | Promise<void>,
    ): Handler =>
    (request, response, admission) => {
      mayKnowNames(request, admission, options)
        .then((named) => (request.destroyed ? undefined : answer(response, named, request)))
        .catch((error: unknown) => refuse(response, error, options));
    };
  return {
    '/console': page,
    '/console.json': answered((response, named) =>
      respond(response, jsonAnswer(200, console.text(named))),
    ),
    '/console/usage.json': answered(async (response, named, request) => {
      respond(response, jsonAnswer(200, await usageFor(request, named, usage)));
    }),
    '/console/usage.csv': answered(async (response, named, request) => {
      const { by, groups } = await usageFor(request, named, usage);
      respond(response, csvAnswer(usageCsv(by, groups)));
    }),
  };
}

/** Whether callers' names are visible to a request. Rejects with a coded error if its token is invalid. */
async function mayKnowNames(
  request: IncomingMessage,
  admission: Admission,
  { hasRoles }: ConsoleOptions,
): Promise<boolean> {
  // Names are for the gateway's own pages: not even for other allowed ones.
  const local = isLocal(request) && admission.isOwn;
  if (!hasRoles || request.headers.authorization === undefined) return local;
  try {
    // An invalid token is rejected on this machine too, where it is not required.
    return (await admission.identify()).role === 'admin' || local;
  } catch (error) {
    // The console stays available to its operator if an identity provider is unavailable.
    if (local && error instanceof GatewayError) return true;
    throw error;
  }
}

function refuse(response: ServerResponse, error: unknown, { maskError }: ConsoleOptions): void {
  if (response.headersSent) response.destroy();
  else respond(response, errorAnswer(maskError(error)));
}
