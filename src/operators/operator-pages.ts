import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission } from '../http/door/admission.ts';
import { isLocal } from '../http/door/local-caller.ts';
import { isReading, jsonAnswer, redirect, respond, textAnswer } from '../http/respond.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { GatewayState } from './readiness.ts';

/** Access to `/metrics` and the console: this machine only, or all callers. */
type MetricsAccess = 'local' | 'open';

/** Handles requests for one path. */
export type OperatorPage = (
  request: IncomingMessage,
  response: ServerResponse,
  admission: Admission,
) => void;

/** The handlers of the paths for probes and operators; a disabled path is missing. */
export type OperatorPages = Readonly<Record<'/livez' | '/readyz' | '/probe', OperatorPage>> &
  Readonly<Partial<Record<'/metrics' | '/status' | ConsolePath, OperatorPage>>>;

/** The console, what fills it, what keeps it filled, and the usage by caller. */
type ConsolePath = '/console' | '/console.json' | '/console/usage.csv' | '/console/usage.json';

/**
 * The pages `/livez` (the process runs), `/readyz` (requests should be sent here), `/metrics`, and those
 * of the console, to which `/status` leads. They answer GET and HEAD, and cost no upstream call. Besides, `/probe`.
 */
export function createOperatorPages(options: {
  readonly access: MetricsAccess;
  readonly metrics: Pick<Metrics, 'render'>;
  /** The handlers of the console's paths. */
  readonly console: Readonly<Partial<Record<ConsolePath, OperatorPage>>>;
  readonly state: GatewayState;
  /** Answers `/probe`, which costs upstream calls, and admits its callers itself. */
  readonly probe: OperatorPage;
}): OperatorPages {
  const { access, metrics, probe, state } = options;
  const probes = {
    '/probe': probe,
    '/livez': forReaders((_, response) => respond(response, textAnswer(200, 'ok'))),
    '/readyz': forReaders((_, response, { draining }) => {
      const readiness = state(draining);
      respond(response, jsonAnswer(readiness.ready ? 200 : 503, readiness));
    }),
  };
  const restrict = access === 'local' ? forLocalCallers : (page: OperatorPage) => page;
  const pages = {
    ...options.console,
    '/metrics': (_: IncomingMessage, response: ServerResponse) =>
      inBackground(scrape(metrics, response)),
    '/status': (_: IncomingMessage, response: ServerResponse) =>
      respond(response, redirect('/console')),
  };
  const restricted = Object.entries(pages).map(([path, page]) => [
    path,
    forReaders(restrict(page)),
  ]);
  return { ...probes, ...(Object.fromEntries(restricted) as Partial<OperatorPages>) };
}

function forReaders(page: OperatorPage): OperatorPage {
  return (request, response, admission) => {
    if (isReading(request, response)) page(request, response, admission);
  };
}

function forLocalCallers(page: OperatorPage): OperatorPage {
  const refusal =
    'This page accepts requests only from this machine. Set METRICS_PORT to serve it to others on that port.';
  return (request, response, admission) => {
    if (isLocal(request)) page(request, response, admission);
    else respond(response, textAnswer(403, refusal));
  };
}

async function scrape(metrics: Pick<Metrics, 'render'>, response: ServerResponse): Promise<void> {
  try {
    const { contentType: type, text: body } = await metrics.render();
    respond(response, { status: 200, content: { type, body } });
  } catch {
    respond(response, textAnswer(500, 'The metrics cannot be rendered.'));
  }
}
