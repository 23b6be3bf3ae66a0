import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Metrics } from '../../observe/metrics.ts';
import type { Readiness } from './readiness.ts';
import { type Status, statusPage, statusPolicy } from './status-page.ts';

/** Who may see `/metrics` and `/status`: callers on this machine, everyone, or nobody. */
export type MetricsAccess = 'local' | 'open' | 'off';

/** The paths for probes and operators. */
export interface OperatorPages {
  /** Answers a request for one of them, and says whether it was one. */
  send(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    draining: boolean,
  ): boolean;
}

/** Serves `/readyz`, `/metrics` and `/status`. None costs an upstream call. */
export function createOperatorPages(options: {
  readonly access: MetricsAccess;
  /** `null` when nothing is counted. */
  readonly metrics: Metrics | null;
  readonly readiness: (draining: boolean) => Readiness;
  readonly status: (draining: boolean) => Status;
}): OperatorPages {
  const { access, metrics, readiness, status } = options;
  const forOperators = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (access === 'open' || isLocal(request)) return true;
    const sentence = 'Only callers on this machine may see this; METRICS=open lets everyone.\n';
    answer(response, 403, 'text/plain', sentence);
    return false;
  };
  return {
    send(path, request, response, draining) {
      const shown = path === '/readyz' || (access !== 'off' && /^\/(metrics|status)$/.test(path));
      if (!shown) return false;
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.setHeader('Allow', 'GET, HEAD');
        answer(response, 405, 'text/plain', 'Only GET and HEAD are understood here.\n');
      } else if (path === '/readyz') {
        const state = readiness(draining);
        answer(response, state.ready ? 200 : 503, 'application/json', `${JSON.stringify(state)}\n`);
      } else if (forOperators(request, response)) {
        if (path === '/status') {
          response.setHeader('Content-Security-Policy', statusPolicy);
          response.setHeader('Referrer-Policy', 'no-referrer');
          answer(response, 200, 'text/html', statusPage(status(draining)));
        } else {
          scrape(metrics, response);
        }
      }
      return true;
    },
  };
}

function scrape(metrics: Metrics | null, response: ServerResponse): void {
  if (!metrics) return answer(response, 404, 'text/plain', 'Nothing is counted here.\n');
  metrics.render().then(
    ({ contentType, text }) => answer(response, 200, contentType, text),
    () => answer(response, 500, 'text/plain', 'The metrics cannot be shown.\n'),
  );
  return undefined;
}

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Type', /charset/.test(type) ? type : `${type}; charset=utf-8`);
  response.writeHead(status).end(body);
}

/**
 * From this machine itself: not passed on by a proxy on it, nor sent by a page in its browser whose
 * name has been made to point here.
 */
function isLocal({ headers, socket }: IncomingMessage): boolean {
  const loopback = /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '');
  const named = /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/i.test(headers.host ?? '');
  return loopback && named && !('forwarded' in headers) && !('x-forwarded-for' in headers);
}
