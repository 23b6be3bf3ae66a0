import type { ServerResponse } from 'node:http';
import { isLocal } from '../http/door/local-caller.ts';
import type { Handler, Route, Routes } from '../http/door/route.ts';
import { isReading, jsonAnswer, redirect, respond, textAnswer } from '../http/respond.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import { inBackground } from '../scheduling/at-once.ts';
import type { GatewayState } from './readiness.ts';

/**
 * The pages `/livez` (the process runs), `/readyz` (requests should be sent here), `/metrics`, and those
 * of the console, to which `/status` leads. They answer GET and HEAD, and cost no upstream call. Besides, `/probe`.
 */
export function operatorRoutes(options: {
  /** Access to `/metrics` and the console: this machine only, or all callers. */
  readonly access: 'local' | 'open';
  readonly metrics: Pick<Metrics, 'render'>;
  /** The handlers of the console's paths. */
  readonly console: Readonly<Record<string, Handler>>;
  readonly state: GatewayState;
  /** Answers `/probe`, which costs upstream calls, and admits its callers itself. */
  readonly probe: Handler;
}): Routes {
  const { access, metrics, probe, state } = options;
  const restrict = access === 'local' ? forLocalCallers : (page: Handler) => page;
  const forOperators: Readonly<Record<string, Handler>> = {
    ...options.console,
    '/metrics': (_, response) => inBackground(scrape(metrics, response)),
    '/status': (_, response) => respond(response, redirect('/console')),
  };
  const restricted = Object.entries(forOperators).map(([path, page]): [string, Route] => [
    path,
    { answer: forReaders(restrict(page)), audience: 'operators' },
  ]);
  const readyz: Handler = (_, response, { draining }) => {
    const readiness = state(draining);
    respond(response, jsonAnswer(readiness.ready ? 200 : 503, readiness));
  };
  const livez: Handler = (_, response) => respond(response, textAnswer(200, 'ok'));
  return {
    ...Object.fromEntries(restricted),
    '/probe': { answer: probe, audience: 'operators' },
    '/livez': { answer: forReaders(livez), anyHost: true },
    '/readyz': { answer: forReaders(readyz), anyHost: true },
  };
}

function forReaders(page: Handler): Handler {
  return (request, response, admission) => {
    if (isReading(request, response)) page(request, response, admission);
  };
}

function forLocalCallers(page: Handler): Handler {
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
