import type { RequestListener, ServerResponse } from 'node:http';
import type { Metrics } from '../observe/metrics/metrics.ts';
import { inBackground } from '../scheduling/at-once.ts';
import { requestFaultOf } from './door/admission.ts';
import { setSecurityHeaders } from './door/every-request.ts';
import { isLocal } from './door/local-caller.ts';
import type { Forwarding } from './forward.ts';
import { isReading, jsonAnswer, type PlainAnswer, respond, textAnswer } from './respond.ts';
import type { Port } from './socket/port.ts';

interface WaitingOptions {
  readonly forwarding: Forwarding;
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
  const { access, forwarding, metrics } = options;
  const pages: Readonly<Record<string, () => PlainAnswer | Promise<PlainAnswer>>> = {
    '/livez': () => textAnswer(200, 'ok'),
    '/readyz': () => readiness(options, drain.begun),
    ...(audience === 'callers' ? {} : { '/metrics': () => scrape(metrics) }),
  };
  return (request, response) => {
    const fault = requestFaultOf(request);
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    const page = pages[path];
    const isOpen = path !== '/metrics' || access === 'open' || isLocal(request);
    if (fault) answer(response, textAnswer(fault.status, fault.sentence));
    else if (page && isOpen) {
      if (isReading(request, response)) inBackground(answerLater(response, page));
    } else if (page || audience === 'operators') {
      answer(response, textAnswer(403, 'Another process owns the store: ask that one.'));
    } else forwarding.forward(request, response, drain);
  };
}

function answer(response: ServerResponse, plain: PlainAnswer): void {
  setSecurityHeaders(response);
  respond(response, plain);
}

async function answerLater(
  response: ServerResponse,
  page: () => PlainAnswer | Promise<PlainAnswer>,
): Promise<void> {
  answer(response, await page());
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
