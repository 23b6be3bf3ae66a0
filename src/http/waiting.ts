import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Metrics } from '../observe/metrics/metrics.ts';
import { inBackground } from '../scheduling/at-once.ts';
import { requestFaultOf } from './door/admission.ts';
import { setSecurityHeaders } from './door/every-request.ts';
import { isLocal } from './door/local-caller.ts';
import type { Origins } from './door/origins.ts';
import type { Forwarding } from './forward.ts';
import { isReading, jsonAnswer, type PlainAnswer, respond, textAnswer } from './respond.ts';
import type { Port } from './socket/port.ts';

interface WaitingOptions {
  readonly forwarding: Forwarding;
  readonly origins: Origins;
  readonly metrics: Metrics;
  /** Whether all callers can read the metrics, or only those on this machine. */
  readonly access: 'local' | 'open';
  /** Whether it is not known yet if this process owns the store. */
  readonly isStarting: () => boolean;
  /** Reads the address of the process that owns the store; `null` if that is not known. */
  readonly ownerUrl: () => Promise<string | null>;
}

/**
 * Answers while another process owns the store: probes and metrics for this process itself, all else by forwarding. Only
 * requests of callers can be forwarded: those of operators have another port there.
 */
export function waitingHandler(
  { drain }: Pick<Port, 'drain'>,
  audience: 'all' | 'callers' | 'operators',
  options: WaitingOptions,
): RequestListener {
  const { access, forwarding, metrics, origins } = options;
  const pages: Readonly<Record<string, () => PlainAnswer | Promise<PlainAnswer>>> = {
    '/livez': () => textAnswer(200, 'ok'),
    '/readyz': () => readiness(options, drain.begun),
    ...(audience === 'callers' ? {} : { '/metrics': () => scrape(metrics) }),
  };
  return (request, response) => {
    setSecurityHeaders(response, origins.rightsOf(request.headers.origin).headers);
    const fault = requestFaultOf(request);
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    const page = pages[path];
    const isOpen = path !== '/metrics' || access === 'open' || isLocal(request);
    if (fault) respond(response, textAnswer(fault.status, fault.sentence));
    else if (origins.allowsOthers && isPreflight(request)) {
      const header = (name: string) => request.headers[name]?.toString();
      respond(response, { status: 204, headers: origins.preflightHeaders(header, 'GET, POST') });
    } else if (page && isOpen) {
      if (isReading(request, response)) inBackground(answer(response, page));
    } else if (audience === 'operators') inBackground(answer(response, () => elsewhere(options)));
    else forwarding.forward(request, response, drain);
  };
}

/** Whether a browser asks what a page may send: without an owner too. */
function isPreflight({ headers, method }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

async function answer(
  response: ServerResponse,
  page: () => PlainAnswer | Promise<PlainAnswer>,
): Promise<void> {
  respond(response, await page());
}

async function elsewhere({ ownerUrl }: WaitingOptions): Promise<PlainAnswer> {
  const owner = (await ownerUrl()) ?? 'not known at this moment';
  return textAnswer(403, `Only the owner of the store serves this page. It is ${owner}.`);
}

async function readiness(options: WaitingOptions, draining: boolean): Promise<PlainAnswer> {
  const url = await options.ownerUrl();
  const reasons = [
    ...(draining ? [{ reason: 'draining' }] : []),
    ...(options.isStarting() ? [{ reason: 'starting' }] : []),
  ];
  const degraded = url === null ? [{ reason: 'owner-unknown' }] : [];
  const ready = reasons.length === 0;
  return jsonAnswer(ready ? 200 : 503, { ready, reasons, degraded, owner: { url, isThis: false } });
}

async function scrape(metrics: Metrics): Promise<PlainAnswer> {
  const { contentType: type, text: body } = await metrics.render();
  return { status: 200, content: { type, body } };
}
